"""Layers that merge several inputs into one: sums, products, concatenations, and the functions that apply them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import TensorShape, as_shape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import math
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import logical_and
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.normalization import l2_normalize
from thalweg._src.graph.ops.reduction import reduce_all
from thalweg._src.graph.ops.reshape import expand_dims, ones_like
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.backend.math import batch_dot
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.tracking import NestedShapes, is_shape


class _Merge(Layer):
    """The base class of layers of several inputs; those of a lower rank broadcast along axes after the batch."""

    supports_masking = True

    def _merged(self, inputs: list[Any]) -> Any:
        """Returns the output for inputs of one rank."""
        raise NotImplementedError("a subclass says how inputs are merged")

    def _require_count(self, shapes: Sequence[Any]) -> None:
        if is_shape(shapes) or len(shapes) < 2:
            raise ValueError(f"A merge layer should be called on a list of at least 2 inputs. Got {shapes}")

    def build(self, input_shape: NestedShapes) -> None:
        """Checks that the inputs can be merged."""
        self._require_count(input_shape)
        self._broadcast([as_shape(shape) for shape in input_shape])
        self.built = True

    def _broadcast(self, shapes: list[Any]) -> TensorShape:
        """Returns the shape of the result, after a check of the sizes."""
        if any(shape is None for shape in shapes):
            return TensorShape(None)
        batches = {shape[0] for shape in shapes} - {None}
        if len(batches) > 1:
            raise ValueError(f"Can not merge tensors with different batch sizes. Got tensors with shapes : {shapes}")
        rank = max(map(len, shapes))
        aligned = [(shape[0], *(1,) * (rank - len(shape)), *shape[1:]) for shape in shapes]
        sizes = [_common_size([shape[axis] for shape in aligned], shapes) for axis in range(1, rank)]
        return TensorShape([batches.pop() if batches and None not in {s[0] for s in shapes} else None, *sizes])

    def call(self, inputs: Sequence[Any]) -> Any:
        """Returns the merged inputs."""
        if not isinstance(inputs, list | tuple):
            raise ValueError("A merge layer should be called on a list of inputs.")
        tensors = [convert_to_tensor(x) for x in inputs]
        ranks: list[Any] = [x.shape.ndims for x in tensors]
        if None not in ranks and len(set(ranks)) > 1:
            tensors = [_expanded(x, max(ranks) - rank) for x, rank in zip(tensors, ranks)]
        return self._merged(tensors)

    def compute_output_shape(self, input_shape: NestedShapes) -> Any:
        """Returns the shape that the inputs broadcast to."""
        self._require_count(input_shape)
        return self._broadcast([as_shape(shape) for shape in input_shape])

    def _masks(self, inputs: Sequence[Any], mask: Sequence[Any] | None) -> list[Any] | None:
        """Returns the masks of the inputs; None if no input has one."""
        if mask is None:
            return None
        if not isinstance(mask, list | tuple):
            raise ValueError("`mask` should be a list.")
        if not isinstance(inputs, list | tuple):
            raise ValueError("`inputs` should be a list.")
        if len(mask) != len(inputs):
            raise ValueError("The lists `inputs` and `mask` should have the same length.")
        return None if all(input_mask is None for input_mask in mask) else list(mask)

    def compute_mask(self, inputs: Sequence[Any], mask: Sequence[Any] | None = None) -> Any:
        """Returns where all masks are true."""
        masks = self._masks(inputs, mask)
        return (
            None
            if masks is None
            else functools.reduce(logical_and, [input_mask for input_mask in masks if input_mask is not None])
        )


def _common_size(sizes: Sequence[Any], shapes: Sequence[Any]) -> int | None:
    """Returns the size that sizes broadcast to, None if it is not known."""
    distinct = {size for size in sizes if size not in (None, 1)}
    if len(distinct) > 1:
        raise ValueError(f"Operands could not be broadcast together with shapes {' '.join(map(str, shapes))}")
    if distinct:
        return int(distinct.pop())
    return None if None in sizes else 1


def _expanded(x: Tensor, count: int) -> Tensor:
    for _ in range(count):
        x = expand_dims(x, 1)
    return x


@export("keras.layers.Add")
class Add(_Merge):
    """The sum of the inputs.

    Args:
        name: Name of the layer; by default one of the name of the class.
        dtype: Type of the variables; by default that of the first input.
        **kwargs: Options of every layer: `name`, `dtype`, `trainable`, `input_shape` ...
    """

    def _merged(self, inputs: list[Any]) -> Any:
        return functools.reduce(math.add, inputs)


@export("keras.layers.Subtract")
class Subtract(_Merge):
    """The first of two inputs without the second.

    Args:
        name: Name of the layer; by default one of the name of the class.
        dtype: Type of the variables; by default that of the first input.
        **kwargs: Options of every layer: `name`, `dtype`, `trainable`, `input_shape` ...
    """

    def _require_count(self, shapes: Sequence[Any]) -> None:
        if is_shape(shapes) or len(shapes) != 2:
            raise ValueError("A `Subtract` layer should be called on exactly 2 inputs")

    def _merged(self, inputs: list[Any]) -> Any:
        if len(inputs) != 2:
            raise ValueError("A `Subtract` layer should be called on exactly 2 inputs")
        return math.subtract(*inputs)


@export("keras.layers.Multiply")
class Multiply(_Merge):
    """The product of the inputs, element by element.

    Args:
        name: Name of the layer; by default one of the name of the class.
        dtype: Type of the variables; by default that of the first input.
        **kwargs: Options of every layer: `name`, `dtype`, `trainable`, `input_shape` ...
    """

    def _merged(self, inputs: list[Any]) -> Any:
        return functools.reduce(math.multiply, inputs)


@export("keras.layers.Average")
class Average(_Merge):
    """The mean of the inputs.

    Args:
        name: Name of the layer; by default one of the name of the class.
        dtype: Type of the variables; by default that of the first input.
        **kwargs: Options of every layer: `name`, `dtype`, `trainable`, `input_shape` ...
    """

    def _merged(self, inputs: list[Any]) -> Any:
        return functools.reduce(math.add, inputs) / len(inputs)


@export("keras.layers.Maximum")
class Maximum(_Merge):
    """The largest of the inputs, element by element.

    Args:
        name: Name of the layer; by default one of the name of the class.
        dtype: Type of the variables; by default that of the first input.
        **kwargs: Options of every layer: `name`, `dtype`, `trainable`, `input_shape` ...
    """

    def _merged(self, inputs: list[Any]) -> Any:
        return functools.reduce(math.maximum, inputs)


@export("keras.layers.Minimum")
class Minimum(_Merge):
    """The smallest of the inputs, element by element.

    Args:
        name: Name of the layer; by default one of the name of the class.
        dtype: Type of the variables; by default that of the first input.
        **kwargs: Options of every layer: `name`, `dtype`, `trainable`, `input_shape` ...
    """

    def _merged(self, inputs: list[Any]) -> Any:
        return functools.reduce(math.minimum, inputs)


@export("keras.layers.Concatenate")
class Concatenate(_Merge):
    """The inputs one after the other along an axis.

    Args:
        axis: The axis along which the inputs follow each other.
    """

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def _broadcast(self, shapes: list[Any]) -> TensorShape:
        """Returns the shape of the result; the inputs may differ in the size of the axis alone."""
        if any(shape is None for shape in shapes):
            return TensorShape(None)
        first: list[Any] = list(shapes[0])
        axis = self.axis % len(first) if first else 0
        for shape in shapes[1:]:
            pairs = list(zip(first, shape))
            if len(shape) != len(first) or any(
                i != axis and None not in pair and pair[0] != pair[1] for i, pair in enumerate(pairs)
            ):
                raise ValueError(
                    "A `Concatenate` layer requires inputs with matching shapes except for the concat axis. "
                    f"Got inputs shapes: {shapes}"
                )
            merged = [mine if other is None else other if mine is None else mine for mine, other in pairs]
            merged[axis] = None if None in pairs[axis] else sum(pairs[axis])
            first = merged
        return TensorShape(first)

    def call(self, inputs: Sequence[Any]) -> Any:
        """Returns the inputs as one."""
        if not isinstance(inputs, list | tuple):
            raise ValueError("A merge layer should be called on a list of inputs.")
        return concat(inputs, self.axis)

    def compute_mask(self, inputs: Sequence[Any], mask: Sequence[Any] | None = None) -> Any:
        """Returns the masks one after the other; an input without one is not masked."""
        masks = self._masks(inputs, mask)
        if masks is None:
            return None
        expanded_masks = []
        for x, input_mask in zip(inputs, masks):
            if input_mask is None:
                expanded_masks.append(cast(ones_like(x[..., :1]), dtypes.bool))
            elif input_mask.shape.ndims < x.shape.ndims:
                expanded_masks.append(expand_dims(input_mask, -1))
            else:
                expanded_masks.append(input_mask)
        return reduce_all(concat(expanded_masks, self.axis), axis=-1)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "axis": self.axis}


@export("keras.layers.Dot")
class Dot(_Merge):
    """The sum of products of two inputs over an axis of each, for each example.

    Args:
        axes: The axis of both inputs to sum over, or a pair of one for each.
        normalize: Whether vectors along the axes are divided by their norms before.
    """

    def __init__(self, axes: int | Sequence[int], normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        is_pair = isinstance(axes, list | tuple) and len(axes) == 2 and all(isinstance(axis, int) for axis in axes)
        if not isinstance(axes, int | list | tuple):
            raise TypeError(f"Invalid type for `axes` - should be a list or an int. Received: {axes}")
        if not isinstance(axes, int) and not is_pair:
            raise ValueError(f"Invalid format for `axes` - should contain two integers. Received: {axes}")
        self.axes = axes
        self.normalize = normalize

    def _both_axes(self, first: Any, second: Any) -> tuple[int, int]:
        pair = (self.axes, self.axes) if isinstance(self.axes, int) else tuple(self.axes)
        return pair[0] % len(first), pair[1] % len(second)

    def _require_count(self, shapes: Sequence[Any]) -> None:
        if is_shape(shapes) or len(shapes) != 2:
            raise ValueError("A `Dot` layer should be called on a list of 2 inputs.")

    def _broadcast(self, shapes: list[Any]) -> TensorShape:
        """Returns the shape of the result: what the inputs have besides the axes."""
        first, second = shapes
        if first is None or second is None:
            return TensorShape(None)
        axes = self._both_axes(first, second)
        sizes = first[axes[0]], second[axes[1]]
        if None not in sizes and sizes[0] != sizes[1]:
            raise ValueError(f"Dimension incompatibility {sizes[0]} != {sizes[1]}. Layer shapes: {first}, {second}")
        rest = [size for axis, size in enumerate(first) if axis != axes[0]]
        rest += [size for axis, size in enumerate(second) if axis not in (0, axes[1])]
        return TensorShape(rest if len(rest) > 1 else [*rest, 1])

    def call(self, inputs: Sequence[Any]) -> Any:
        """Returns the sums of products."""
        if not isinstance(inputs, list | tuple) or len(inputs) != 2:
            raise ValueError("A `Dot` layer should be called on exactly 2 inputs")
        first, second = (convert_to_tensor(x) for x in inputs)
        axes = self._both_axes(first.shape.as_list(), second.shape.as_list())
        if self.normalize:
            first, second = (l2_normalize(x, axis=axis) for x, axis in zip((first, second), axes))
        return batch_dot(first, second, axes)

    def compute_mask(self, inputs: Sequence[Any], mask: Sequence[Any] | None = None) -> Any:
        """Returns None: the result has no steps."""
        return None

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "axes": self.axes, "normalize": self.normalize}


@export("keras.layers.add")
def add(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """Returns the sum of the inputs.

    Args:
        inputs: The tensors, a list of two or more.
        **kwargs: Arguments of the layer, such as `name`.
    """
    return Add(**kwargs)(inputs)


@export("keras.layers.subtract")
def subtract(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """Returns the first of two inputs without the second.

    Args:
        inputs: Two tensors.
        **kwargs: Arguments of the layer, such as `name`.
    """
    return Subtract(**kwargs)(inputs)


@export("keras.layers.multiply")
def multiply(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """Returns the product of the inputs, element by element.

    Args:
        inputs: The tensors, a list of two or more.
        **kwargs: Arguments of the layer, such as `name`.
    """
    return Multiply(**kwargs)(inputs)


@export("keras.layers.average")
def average(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """Returns the mean of the inputs.

    Args:
        inputs: The tensors, a list of two or more.
        **kwargs: Arguments of the layer, such as `name`.
    """
    return Average(**kwargs)(inputs)


@export("keras.layers.maximum")
def maximum(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """Returns the largest of the inputs, element by element.

    Args:
        inputs: The tensors, a list of two or more.
        **kwargs: Arguments of the layer, such as `name`.
    """
    return Maximum(**kwargs)(inputs)


@export("keras.layers.minimum")
def minimum(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """Returns the smallest of the inputs, element by element.

    Args:
        inputs: The tensors, a list of two or more.
        **kwargs: Arguments of the layer, such as `name`.
    """
    return Minimum(**kwargs)(inputs)


@export("keras.layers.concatenate")
def concatenate(inputs: Sequence[Any], axis: int = -1, **kwargs: Any) -> Any:
    """Returns the inputs one after the other along an axis.

    Args:
        inputs: The tensors, a list of two or more.
        axis: The axis along which the inputs follow each other.
        **kwargs: Arguments of the layer, such as `name`.
    """
    return Concatenate(axis=axis, **kwargs)(inputs)


@export("keras.layers.dot")
def dot(inputs: Sequence[Any], axes: int | Sequence[int], normalize: bool = False, **kwargs: Any) -> Any:
    """Returns the sum of products of two inputs over an axis of each, for each example.

    Args:
        inputs: Two tensors.
        axes: The axis of both inputs to sum over, or a pair of one for each.
        normalize: Whether vectors along the axes are divided by their norms before.
        **kwargs: Arguments of the layer, such as `name`.
    """
    return Dot(axes=axes, normalize=normalize, **kwargs)(inputs)
