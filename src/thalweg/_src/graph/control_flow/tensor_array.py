"""TensorArray: an array of tensors that loops write and read."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any, ClassVar

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.hook import Hook
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import Shape, ShapeLike, TensorShape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops import tensor_array
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.reshape import constant_value, shape
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.scopes import colocate_with, device, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("TensorArray")
class TensorArray:
    """Elements of one dtype, each written once and read by index; every write returns the array to use afterwards.

    Args:
        dtype: Element type.
        size: Number of elements.
        dynamic_size: Whether writes beyond `size` let the array grow.
        clear_after_read: Whether an element may be read only once, so that its memory can be freed.
        tensor_array_name: Name of the array in error messages.
        flow: Tensor that orders reads after writes; comes with `handle`.
        infer_shape: Whether all elements must have one shape, which reads then know.
        element_shape: Static shape of an element, as far as it is known.
        colocate_with_first_write_call: Accepted for compatibility; the array is where its elements are.
        name: A name for the array's operations.
    """

    dtype = ReadOnly[DType]("The element type.")
    handle = ReadOnly[Tensor]("The tensor of the resource.")
    flow = ReadOnly[Tensor]("The value that orders operations: each write takes a flow and returns a new one.")
    graph = ReadOnly[Graph]("The graph of the array.", "_flow.graph")
    dynamic_size = ReadOnly[bool]("Whether writes beyond the end extend the array.")
    _eager: ClassVar[Hook[type[TensorArray]]]  # its class in eager execution, set by eager_tensor_array.py

    def __new__(cls, *args: Any, **kwargs: Any) -> TensorArray:
        # `TensorArray(...)` is what programs write in both modes. Python then calls __init__ of the class that was
        # chosen.
        return super().__new__(cls._eager if executing_eagerly() else cls)

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
        if handle is not None and tensor_array_name:
            raise ValueError(
                "tensor_array_name cannot be combined with handle: the TensorArray of a handle already has a name."
            )
        if handle is not None and not isinstance(handle, Tensor):
            raise TypeError(f"The handle of a TensorArray must be a tensor, not {handle!r}")
        if handle is None and size is None:
            raise ValueError("A new TensorArray requires a size.")
        if handle is not None and (size is not None or dynamic_size is not None or clear_after_read is not None):
            raise ValueError(
                "size, dynamic_size and clear_after_read cannot be combined with handle: they describe a new array."
            )
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._declared_shape = shapes.as_shape(
            element_shape
        )  # what the operation that makes the array says of its elements
        self._common_shape: list[Shape] = [self._declared_shape]  # shared between all versions of the array (flows)
        self._infer_shape = bool(infer_shape)
        self._dynamic_size = bool(dynamic_size)
        self._size = size
        if handle is not None:
            assert flow is not None
            self._handle, self._flow = handle, flow
            return
        # Without a device of its own the array is placed with its first write; scopes of devices are for what a program
        # computes.
        place = device(None) if colocate_with_first_write_call else contextlib.nullcontext()
        with name_scope(name, "TensorArray", [size]) as scope, place:
            self._handle, self._flow = tensor_array.tensor_array_op.many(
                size,
                dtype=self._dtype,
                element_shape=self._element_shape,
                dynamic_size=self._dynamic_size,
                clear_after_read=True if clear_after_read is None else clear_after_read,
                identical_element_shapes=self._infer_shape,
                tensor_array_name=tensor_array_name or "",
                name=scope,
            )

    @property
    def element_shape(self) -> TensorShape:
        """The static shape of the elements."""
        return TensorShape(self._element_shape)

    @property
    def _element_shape(self) -> Shape:
        return self._common_shape[0]

    def with_flow(self, flow: Tensor) -> TensorArray:
        """Returns the same array at another flow."""
        # All versions share handle and shape; only the flow tells them apart. An operation on a version waits for the
        # writes that led to it, and for no others.
        result = object.__new__(TensorArray)
        result.__dict__.update(self.__dict__)
        result._flow = flow
        return result

    def identity(self) -> TensorArray:
        """Returns the same array, after the writes so far."""
        return self.with_flow(identity(self._flow))

    def _learn(self, shape: Shape) -> None:
        """Merges the shape of an element, which must fit, into the common element shape unless infer_shape is False."""
        # The shape that is learned from one write holds for all elements; in a loop it is learned while the body is
        # traced.
        if not shapes.compatible(self._element_shape, shape):
            hint = "; with infer_shape=False they may differ" if self._declared_shape is None else ""
            raise ValueError(
                f"An element of shape {shapes.show(shape)} does not fit a TensorArray whose elements have shape "
                f"{shapes.show(self._element_shape)}{hint}."
            )
        if self._infer_shape:
            self._common_shape[0] = shapes.merge(self._element_shape, shape)

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """Returns the element at an index."""
        with device(None):
            value = tensor_array.tensor_array_read_op(self._handle, index, self._flow, dtype=self._dtype, name=name)
        if self._element_shape is not None:
            value.dims = self._element_shape
        return value

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Writes an element and returns the array to use afterwards."""
        with name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            value = self._converted(value)
            self._learn(value.dims)
            with device(None):
                return self.with_flow(tensor_array.tensor_array_write_op(self._handle, index, value, self._flow))

    def stack(self, name: str | None = None) -> Tensor:
        """Returns all elements as one tensor with a new first dimension."""
        with name_scope(name, "TensorArrayStack", [self._handle]), colocate_with(self._handle):
            value = self.gather(range_of(0, self.size()), name=name)
        # As in TensorFlow the length is unknown in the static shape, even where the size is a number.
        if value.dims is not None:
            value.dims = (None, *value.dims[1:])
        return value

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Returns the elements at the given indices as one tensor."""
        with device(None):
            value: Tensor = tensor_array.tensor_array_gather_op(
                self._handle, indices, self._flow, dtype=self._dtype, element_shape=self._element_shape, name=name
            )
        if self._declared_shape is None and self._element_shape is not None:
            value.dims = (None, *self._element_shape)
        return value

    def concat(self, name: str | None = None) -> Tensor:
        """Returns all elements concatenated along their first dimension."""
        rest = None if self._element_shape is None else self._element_shape[1:]
        with device(None):
            value: Tensor = tensor_array.tensor_array_concat_op.many(
                self._handle, self._flow, dtype=self._dtype, element_shape_except0=rest, name=name
            )[0]
        return value

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Writes the rows of a tensor as elements 0, 1, 2, ..."""
        with name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            value = self._converted(value)
            return self.scatter(range_of(0, shape(value)[0]), value)

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Writes the rows of a tensor as the elements at the given indices."""
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            value = self._converted(value)
            if value.dims:
                self._learn(value.dims[1:])
            with device(None):
                return self.with_flow(tensor_array.tensor_array_scatter_op(self._handle, indices, value, self._flow))

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Writes pieces of a tensor's first dimension, of the given lengths, as elements 0, 1, 2, ..."""
        with name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            value = self._converted(value)
            lengths = convert_to_tensor(lengths, preferred_dtype=dtypes.int64)
            if lengths.dtype is not dtypes.int64:
                lengths = cast(lengths, dtypes.int64)
            sizes = constant_value(lengths)
            if value.dims is not None and sizes is not None and sizes.size and (sizes == sizes.flat[0]).all():
                self._learn((int(sizes.flat[0]), *value.dims[1:]))
            with device(None):
                return self.with_flow(tensor_array.tensor_array_split_op(self._handle, value, lengths, self._flow))

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements."""
        # A fixed size is the number that the program gave, and needs no operation that waits for the writes.
        if not self._dynamic_size and self._size is not None:
            return convert_to_tensor(self._size, dtypes.int32)
        with device(None):
            return tensor_array.tensor_array_size_op(self._handle, self._flow, name=name)

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """Returns the array of gradients of this array's elements that belongs to one call of `gradients`."""
        with name_scope(name, "TensorArrayGrad", [self._handle]), device(None):
            # `source` distinguishes calls of `gradients`: each has an array of its own, and two of them must not add
            # up.
            handle, flow = tensor_array.tensor_array_grad_op.many(
                self._handle, self._flow if flow is None else flow, source=source, name="gradient"
            )
            assert flow is not None
            gradient = TensorArray(self._dtype, handle=handle, flow=flow, infer_shape=self._infer_shape)
            gradient._declared_shape, gradient._common_shape = self._declared_shape, self._common_shape
            return gradient

    def close(self, name: str | None = None) -> Any:
        """Releases the memory before the step ends."""
        with device(None):
            return tensor_array.tensor_array_close_op.operation(self._handle, name=name)

    def _converted(self, value: TensorLike) -> Tensor:
        tensor = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if tensor.dtype is not self._dtype:
            raise TypeError(f"a TensorArray of {self._dtype.name} cannot hold {tensor.label}, {tensor.dtype.name}")
        return tensor


TensorArray.__new__.__signature__ = inspect.signature(TensorArray.__init__)  # type: ignore[attr-defined]  # for help()
