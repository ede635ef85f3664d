"""InputSpec: requirements of a layer on its inputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.errors import wrong_kind
from thalweg._src.base.export import export
from thalweg._src.graph.tensor import Tensor


@export("layers.InputSpec", "keras.layers.InputSpec")
@dataclass(slots=True)
class InputSpec:
    """Requirements on an input: dtype, shape, rank or sizes of some axes; None is unspecified.

    Args:
        dtype: The element type.
        shape: The shape; None entries are open.
        ndim: The rank.
        max_ndim: The largest rank.
        min_ndim: The smallest rank.
        axes: Sizes of some axes, by number.
    """

    dtype: Any = None
    shape: Any = None
    ndim: int | None = None
    max_ndim: int | None = None
    min_ndim: int | None = None
    axes: dict[int, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.axes = dict(self.axes or {})
        if self.shape is not None:
            self.ndim = len(self.shape)

    def mismatch(self, tensor: Tensor) -> str | None:
        """Returns a description of what is wrong with an input, or None."""
        if self.dtype is not None and tensor.dtype != dtypes.as_dtype(self.dtype):
            return f"expected dtype={dtypes.as_dtype(self.dtype).name}, found dtype={tensor.dtype.name}"
        shape = tensor.dims
        rank = None if shape is None else len(shape)
        checks = (
            ("ndim", self.ndim, rank is not None and rank != self.ndim),
            ("max_ndim", self.max_ndim, rank is not None and rank > (self.max_ndim or 0)),
            ("min_ndim", self.min_ndim, rank is not None and rank < (self.min_ndim or 0)),
        )
        for what, limit, wrong in checks:
            if limit is None:
                continue
            if shape is None:
                return f"its rank is undefined, but the layer requires a defined rank: {what}={limit}"
            if wrong:
                return f"expected {what}={limit}, found ndim={rank}. Full shape received: {shapes.show(shape)}"
        if shape is None:
            return None
        for axis, size in self.axes.items():
            if size is not None and -len(shape) <= axis < len(shape) and shape[axis] not in (size, None):
                received = shapes.show(shape)
                return (
                    f"expected axis {axis} of input shape to have value {size} but received input with shape {received}"
                )
        if self.shape is not None and not shapes.compatible(shapes.as_shape(self.shape), shape):
            return f"expected shape={shapes.show(shapes.as_shape(self.shape))}, found shape={shapes.show(shape)}"
        return None


def require_inputs(specs: Any, inputs: Iterable[Any], layer_name: str) -> None:
    """Raises ValueError if an input does not match the requirements of the layer."""
    specs = specs if isinstance(specs, list | tuple) else [specs]
    inputs = list(inputs)
    if len(specs) != len(inputs):
        raise ValueError(f"Layer {layer_name} expects {len(specs)} inputs, but it received {len(inputs)}: {inputs}")
    for index, (spec, tensor) in enumerate(zip(specs, inputs)):
        if spec is not None and not hasattr(tensor, "dims"):
            raise wrong_kind("inputs", f"tensors for the layer {layer_name}", tensor)
        wrong = None if spec is None else spec.mismatch(tensor)
        if wrong is not None:
            raise ValueError(f"Input {index} of layer {layer_name} is incompatible with the layer: {wrong}")
