"""Optional ops: an element or no value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.ops.data import component_shapes
from thalweg._src.ops.shape_functions import require, scalar
from thalweg._src.shapes import Shape, show

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


optional_from_value_op = op(
    "OptionalFromValue",
    "components: list(Toutput_types) -> optional: variant",
    Toutput_types=attr.type_list(1),
    differentiable=False,
    infer=scalar,
    doc="Creates an optional from components.",
)
optional_none_op = op(
    "OptionalNone",
    "-> optional: variant",
    differentiable=False,
    infer=scalar,
    doc="Creates an optional without a value.",
)
optional_has_value_op = op(
    "OptionalHasValue",
    "optional: variant -> has_value: bool",
    differentiable=False,
    infer=_has_value,
    doc="Returns whether an optional has a value.",
)
optional_get_value_op = op(
    "OptionalGetValue",
    "optional: variant -> components: list(output_types)",
    **_OUTPUTS,
    differentiable=False,
    infer=_value,
    doc="Returns the components of an optional.",
)
iterator_get_next_as_optional_op = op(
    "IteratorGetNextAsOptional",
    "iterator: resource -> optional: variant",
    **_OUTPUTS,
    stateful=True,
    waits=True,
    differentiable=False,
    infer=_next,
    doc="Returns the next element of an iterator as an optional, without a value at the end.",
)
