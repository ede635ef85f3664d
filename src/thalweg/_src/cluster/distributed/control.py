"""The messages of the control plane, from control.proto; protobuf is loaded with the first of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg._src.base.lazy_names import lazy_names

_GENERATED = f"{__package__}.control_pb2"

if TYPE_CHECKING:
    from google.protobuf.empty_pb2 import Empty as Empty

    from thalweg._src.cluster.distributed.control_pb2 import *  # noqa: F403
else:
    __getattr__, __dir__ = lazy_names(__name__, (), {"Empty": "google.protobuf.empty_pb2"}, shown=_GENERATED)
