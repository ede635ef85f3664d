"""TensorArrays of eager execution: a Python list of tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from thalweg._src.base import errors, shapes
from thalweg._src.base.dtypes import DTypeLike, as_dtype
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.concat import concat, split, stack, unstack
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.reshape import zeros
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


class EagerTensorArray(TensorArray):
    """A TensorArray whose operations run at once: writes change it and return the array itself.

    Its elements are tensors that tapes know, so that gradients need no array of their own.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: TensorLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is not None:
            raise ValueError("TensorArray handles are not supported when eager execution is enabled.")
        if size is None:
            raise ValueError("Size must be declared for TensorArrays when eager execution is enabled.")
        self._dtype = as_dtype(dtype).base_dtype
        self._declared_shape = shapes.as_shape(element_shape)
        self._common_shape = [self._declared_shape]
        self._infer_shape = bool(infer_shape)
        self._dynamic_size = bool(dynamic_size)
        self._clears = clear_after_read is None or clear_after_read
        self._handle = None  # type: ignore[assignment]  # code for both modes may read it, but has no use for it
        self._flow = constant(0.0)
        # Elements are tensors on which a tape may have operations; the list itself is never recorded.
        self._items: list[Tensor | None] = [None] * int(size)  # type: ignore[arg-type]
        self._cleared: set[int] = set()

    def with_flow(self, flow: Tensor) -> TensorArray:
        """Returns the array itself: what it holds does not depend on a flow."""
        return self

    def identity(self) -> TensorArray:
        """Returns the array itself."""
        return self

    def _item(self, index: int) -> Tensor:
        """Returns an element; one that was never written is zero."""
        item = self._items[index]
        if item is None:
            item = self._items[index] = zeros(self.element_shape, self._dtype)
        return item

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """Returns the element at an index."""
        i = int(index)  # type: ignore[arg-type]
        if i < 0:
            raise _out_of_range(f"Reading from negative indices (index {i}) is not allowed.")
        if i >= len(self._items):
            raise _out_of_range(f"Tried to read from index {i} but array size is: {len(self._items)}")
        # An element that was never written reads as zeros; one that was read and cleared is an error, as in a graph.
        if i in self._cleared and self._items[i] is None:
            raise errors.invalid(
                f"Could not read index {i} twice because it was cleared after a previous read "
                "(perhaps try setting clear_after_read = false?)"
            )
        item = self._item(i)
        if self._clears:
            self._items[i] = None
            self._cleared.add(i)
        return item

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Writes an element and returns the array."""
        i, size = int(index), len(self._items)  # type: ignore[arg-type]
        if i < 0:
            raise _out_of_range(f"Writing to negative indices (index {i}) is not allowed.")
        if i >= size and not self._dynamic_size:
            raise _out_of_range(f"Tried to write to index {i} but array is not resizeable and size is: {size}")
        tensor = self._converted(value)
        if not shapes.compatible(self._element_shape, tensor.dims):
            raise ValueError(f"Incompatible shape for value ({tensor.shape}), expected ({self.element_shape})")
        self._learn(tensor.dims)
        # Negative counts add nothing: the list grows only for an index beyond its end.
        self._items += [None] * (i + 1 - size)
        self._items[i] = tensor
        return self

    def stack(self, name: str | None = None) -> Tensor:
        """Returns all elements as one tensor with a new first dimension."""
        return self._stacked(range(len(self._items)))

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Returns the elements at the given indices as one tensor."""
        return self._stacked(np.asarray(indices).tolist())

    def _stacked(self, indices: Iterable[int]) -> Tensor:
        items = [self._item(i) for i in indices]
        if not items and self.element_shape.is_fully_defined():
            return zeros([0, *self.element_shape.as_list()], self._dtype)
        return stack(items) if items else constant(np.empty(0), self._dtype)

    def concat(self, name: str | None = None) -> Tensor:
        """Returns all elements concatenated along their first dimension."""
        items = [self._item(i) for i in range(len(self._items))]
        for i, item in enumerate(items):
            if item.dims == ():
                raise errors.invalid(f"Concat saw a scalar shape at index {i} but requires at least vectors.")
        return concat(items, 0)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Makes the rows of a tensor the elements."""
        items = unstack(self._converted(value))
        if len(items) > len(self._items) and not self._dynamic_size:
            raise ValueError(
                f"Cannot unstack {len(items)} tensors into a TensorArray of static size {len(self._items)}"
            )
        self._items[:] = items
        return self

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Writes the rows of a tensor as the elements at the given indices."""
        for index, item in zip(np.asarray(indices).tolist(), unstack(self._converted(value))):
            self.write(index, item)
        return self

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Makes pieces of a tensor's first dimension, of the given lengths, the elements."""
        tensor, sizes = self._converted(value), np.asarray(lengths)
        if sizes.ndim != 1:
            raise errors.invalid(f"Expected lengths to be a vector, received shape: {list(sizes.shape)}")
        if not tensor.dims:
            raise errors.invalid(f"Expected value to be at least a vector, but received shape: {tensor.shape}")
        if sizes.sum() != tensor.dims[0]:
            raise errors.invalid(
                f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {sizes.sum()} "
                f"and value's shape is: {tensor.shape}"
            )
        if len(sizes) != len(self._items) and not self._dynamic_size:
            raise errors.invalid(
                f"TensorArray's size is not equal to the size of lengths ({len(self._items)} vs. {len(sizes)}), "
                "and the TensorArray is not marked as dynamically resizeable"
            )
        self._items[:] = split(tensor, sizes.tolist())
        return self

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements."""
        return constant(len(self._items))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> NoReturn:
        """Fails: tapes record the elements themselves."""
        raise NotImplementedError(
            "TensorArray.grad is not supported when executing eagerly: a tape computes the gradients of the elements."
        )

    def close(self, name: str | None = None) -> None:
        """Releases the elements."""
        self._items.clear()

    def _converted(self, value: TensorLike) -> Tensor:
        tensor = convert_to_tensor(value, preferred_dtype=self._dtype)
        if tensor.dtype is not self._dtype:
            raise errors.invalid(
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype {tensor.dtype.name}"
            )
        return tensor


def _out_of_range(text: str) -> errors.OutOfRangeError:
    return errors.OutOfRangeError(None, None, text)


TensorArray._eager = EagerTensorArray
