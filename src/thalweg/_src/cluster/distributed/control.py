"""The messages of the control plane, from control.proto; protobuf is loaded with the first of them (PEP 562)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf.empty_pb2 import Empty as Empty

    from thalweg._src.cluster.distributed.control_pb2 import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        generated = "google.protobuf.empty_pb2" if name == "Empty" else f"{__package__}.control_pb2"
        value = globals()[name] = getattr(import_module(generated), name)
        return value
