"""Optional ops: an element or no value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.data import component_shapes
from thalweg._src.graph.ops.declarations import nondifferentiable_op, stateful_op
from thalweg._src.graph.ops.shape_functions import require, scalar

_OUTPUTS: dict[str, Any] = {"output_types": attr.type_list(1), "output_shapes": attr.AttrDef("list(shape)", minimum=1)}


def _has_value(c: Inference) -> Sequence[Shape]:
    require(c.shapes[0] in (None, ()), f"optional has shape {show(c.shapes[0])}", expected="a scalar")
    return [()]


def _next(c: Inference) -> Sequence[Shape]:
    component_shapes(c)
    return [()]


def _value(c: Inference) -> Sequence[Shape]:
    _has_value(c)
    return component_shapes(c)


optional_from_value_op = nondifferentiable_op(
    "OptionalFromValue",
    "components: list(Toutput_types) -> optional: variant",
    "Creates an optional from components.",
    Toutput_types=attr.type_list(1),
    infer=scalar,
)
optional_none_op = nondifferentiable_op(
    "OptionalNone", "-> optional: variant", "Creates an optional without a value.", infer=scalar
)
optional_has_value_op = nondifferentiable_op(
    "OptionalHasValue",
    "optional: variant -> has_value: bool",
    "Returns whether an optional has a value.",
    infer=_has_value,
)
optional_get_value_op = nondifferentiable_op(
    "OptionalGetValue",
    "optional: variant -> components: list(output_types)",
    "Returns the components of an optional.",
    **_OUTPUTS,
    infer=_value,
)
iterator_get_next_as_optional_op = stateful_op(
    "IteratorGetNextAsOptional",
    "iterator: resource -> optional: variant",
    "Returns the next element of an iterator as an optional, without a value at the end.",
    **_OUTPUTS,
    waits=True,
    infer=_next,
)
