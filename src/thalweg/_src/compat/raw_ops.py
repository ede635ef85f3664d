"""tf.raw_ops: every op under its own name, with inputs and attributes as keyword arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.graph.op_def import OPS


def __getattr__(name: str) -> Callable[..., Any]:
    definition = None if name.startswith("_") else OPS.get(name)
    if definition is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def raw(*, name: str | None = None, **arguments: Any) -> Any:
        return definition.many(name=name, **arguments)

    raw.__name__, raw.__doc__ = definition.name, definition.doc
    return raw


def __dir__() -> list[str]:
    return sorted(name for name in OPS if not name.startswith("_"))
