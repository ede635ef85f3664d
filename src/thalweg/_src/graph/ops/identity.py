"""Identity ops: for names, gradients and checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, ShapeLike
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require, unchanged
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _unchanged_list(c: Inference) -> Sequence[Shape]:
    return c.shapes


def _same_value(c: Inference) -> Any:
    return c.partial(0)


identity = export("identity")(
    op(
        "Identity",
        "input: T -> output: T",
        T=attr.types(),
        infer=unchanged,
        evaluate=_same_value,
        doc="Returns its input unchanged.",
        traceable=True,
        fails="never",
        forwards="same",
    )
)
identity_n_op = op(
    "IdentityN",
    "input: list(T) -> output: list(T)",
    T=attr.type_list(1),
    infer=_unchanged_list,
    doc="Returns its inputs unchanged, once all of them are available.",
)
stop_gradient = export("stop_gradient")(
    nondifferentiable_op(
        "StopGradient",
        "input: T -> output: T",
        "Returns its input unchanged; gradients treat it as constant.",
        T=attr.types(),
        infer=unchanged,
        evaluate=_same_value,
        traceable=True,
        fails="never",
        forwards="same",
    )
)
prevent_gradient = op(
    "PreventGradient",
    "input: T -> output: T",
    T=attr.types(),
    message="",
    infer=unchanged,
    evaluate=_same_value,
    doc="Returns its input unchanged; requesting a gradient through it is an error.",
    forwards="same",
)


@export("identity_n")
def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """Returns the tensors unchanged, each available when all are.

    Args:
        input: The tensors.
    """
    return identity_n_op.many(list(input), name=name)  # type: ignore[no-any-return]


def _ensure_shape(c: Inference) -> Sequence[Shape]:
    return [shapes.merge(c.shapes[0], c.attrs["shape"])]


ensure_shape_op = op(
    "EnsureShape",
    "input: T -> output: T",
    shape=attr.shape(),
    T=attr.types(),
    infer=_ensure_shape,
    doc="Returns its input after checking its shape in the step.",
)


@export("ensure_shape")
def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Returns the tensor after checking its shape in each step.

    Args:
        shape: The shape.
    """
    return ensure_shape_op(x, shape=shapes.as_shape(shape), name=name)


@export("guarantee_const")
def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the tensor, which the caller guarantees to be constant.

    Args:
        input: The tensor.
    """
    return identity(input, name=name)


def _bitcast(c: Inference) -> Sequence[Shape]:
    """A wider type consumes the last dimension, a narrower one adds a new last dimension."""
    source, old, new = c.shapes[0], c.dtypes[0].size, c.attrs["type"].size
    if source is None or old == new:
        return [source]
    if old > new:
        return [(*source, old // new)]
    require(
        len(source) > 0 and source[-1] in (None, new // old),
        f"a last dimension of size {source[-1] if source else 'none'} cannot be bitcast to {c.attrs['type'].name}",
        expected=f"a last dimension of size {new // old}",
    )
    return [source[:-1]]


bitcast = export("bitcast", type="The new element type, whose size need not be the same.")(
    nondifferentiable_op(
        "Bitcast",
        "input: T -> output: type",
        "Reinterprets the bits of a tensor as another type.",
        T=dtypes.NUMERIC | dtypes.QUANTIZED,
        type=attr.types(dtypes.NUMERIC | dtypes.QUANTIZED),
        infer=_bitcast,
    )
)
