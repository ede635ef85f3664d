"""tf.raw_ops: every op under its own name, with inputs and attributes as keyword arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from thalweg._src.graph.attr import REQUIRED
from thalweg._src.graph.op_def import OPS, OpDef, show_type


def __getattr__(name: str) -> Callable[..., Any]:
    definition = None if name.startswith("_") else OPS.get(name)
    if definition is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _function(definition)


@functools.cache
def _function(definition: OpDef) -> Callable[..., Any]:
    def raw(*, name: str | None = None, **arguments: Any) -> Any:
        return definition.many(name=name, **arguments)

    raw.__name__ = raw.__qualname__ = definition.name
    raw.__doc__ = op_doc(definition)
    raw.__signature__ = _signature(definition)  # type: ignore[attr-defined]
    return raw


def _signature(definition: OpDef) -> Signature:
    defaults: dict[str, Any] = {arg.name: Parameter.empty for arg in definition.inputs}
    defaults |= {key: definition.defaults.get(key, Parameter.empty) for key in definition.explicit}
    defaults["name"] = None
    return Signature([Parameter(key, Parameter.KEYWORD_ONLY, default=value) for key, value in defaults.items()])


def op_doc(definition: OpDef) -> str:
    """Returns the docstring of an op: its description, and its inputs and attributes with their types."""
    lines = [definition.doc or f"Adds an operation of the type {definition.name}.", "", "Args:"]
    lines += [f"    {arg.name}: Input of type {show_type(arg)}." for arg in definition.inputs]
    for key in definition.explicit:
        attr = definition.attrs[key]
        kind = f"list({attr.element})" if attr.is_list else attr.element
        default = "" if attr.default is REQUIRED else f"; {attr.default!r} by default"
        lines.append(f"    {key}: Attribute of type {kind}{default}.")
    return "\n".join([*lines, "    name: A name for the operation."])


def __dir__() -> list[str]:
    return sorted(name for name in OPS if not name.startswith("_"))
