"""`tensorflow.python.framework.op_def_library` and `op_def_registry`: operations by the names of their types."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.op_def import OPS, OpDef


def get_registered_ops() -> dict[str, OpDef]:
    """Returns all ops by name."""
    return {name: OPS.lookup(name) for name in OPS}


class OpDefLibrary:
    """A collection of ops: all that are registered."""

    def apply_op(self, op_type_name: str, name: str | None = None, **keywords: Any) -> Any:
        """Adds an operation and returns its outputs."""
        return OPS.lookup(op_type_name).many(name=name, **keywords)
