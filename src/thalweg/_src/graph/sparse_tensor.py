"""SparseTensor: a tensor in coordinate (COO) format, as the indices and values of its explicit elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import Shape, ShapeLike, TensorShape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.infer import as_static_shape
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("SparseTensorValue")
class SparseTensorValue(NamedTuple):
    """The value of a SparseTensor, as fetched from a session or fed to it.

    Args:
        indices: Positions of the values: int64 [count, rank].
        values: The values: a vector.
        dense_shape: Shape of the dense tensor: an int64 vector.
    """

    indices: Any
    values: Any
    dense_shape: Any


@export("SparseTensor", "sparse.SparseTensor")
class SparseTensor:
    """Values `values[i]` at `indices[i]` in a tensor of shape `dense_shape`.

    Args:
        indices: Positions of the values: int64 [count, rank].
        values: The values: a vector.
        dense_shape: Shape of the dense tensor: an int64 vector.
    """

    # makes NumPy's operators defer to ours
    __array_priority__ = 100
    indices = ReadOnly[Tensor]("The indices of the elements, [count, rank].")
    values = ReadOnly[Tensor]("The elements, a vector.")
    dense_shape = ReadOnly[Tensor]("The shape, a vector.")
    dtype = ReadOnly[DType]("The element type.", "_values.dtype")
    op = ReadOnly[Operation]("The operation of the values.", "_values.op")
    name = ReadOnly[str]("The name of the values.", "_values.name")
    device = ReadOnly[str]("The device of the values.", "_values.device")
    graph = ReadOnly[Graph]("The graph of the values.", "_indices.graph")

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: ShapeLike | TensorLike) -> None:
        # With tensors, the common case, no name scope is taken: a scope without operations would still use up its name.
        if type(indices) is not Tensor or type(values) is not Tensor or type(dense_shape) is not Tensor:
            with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
                indices = convert_to_tensor(indices, dtypes.int64, name="indices")
                values = convert_to_tensor(values, name="values")
                dense_shape = convert_to_tensor(dense_shape, dtypes.int64, name="dense_shape")
        for field, tensor in (("indices", indices), ("dense_shape", dense_shape)):
            if tensor.dtype is not dtypes.int64:
                raise ValueError(f"{field} of a SparseTensor must be int64, but {tensor.label} is {tensor.dtype.name}")
        self._indices: Tensor = indices
        self._values: Tensor = values
        self._dense_shape: Tensor = dense_shape
        self.dims: Shape = as_static_shape(dense_shape)
        _require_matching_components(indices.dims, values.dims, dense_shape.dims)

    @classmethod
    def from_value(cls, sparse_tensor_value: SparseTensor | SparseTensorValue) -> SparseTensor:
        """Returns a SparseTensor with the components of a SparseTensorValue."""
        if not is_sparse(sparse_tensor_value):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        return cls(*components_of(sparse_tensor_value))

    def with_values(self, new_values: TensorLike) -> SparseTensor:
        """Returns a SparseTensor with other values at the same indices."""
        result = SparseTensor(self._indices, new_values, self._dense_shape)
        result.dims = self.dims
        return result

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return TensorShape(self.dims)

    def get_shape(self) -> TensorShape:
        """Returns the static shape."""
        return TensorShape(self.dims)

    def set_shape(self, shape: ShapeLike) -> None:
        """Merges a shape that the caller knows into the static shape."""
        self.dims = shapes.merge(self.dims, shapes.as_shape(shape))

    def consumers(self) -> list[Operation]:
        """Returns the operations that use the values."""
        components = (self._values, self._indices, self._dense_shape)
        return list(dict.fromkeys(consumer for component in components for consumer in component.consumers()))

    def eval(self, feed_dict: dict[Any, Any] | None = None, session: Any = None) -> Any:
        """Evaluates the tensor in the given or the default session and returns its SparseTensorValue."""
        return self.graph.session_for(session, self._values.name).run(self, feed_dict)

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self._indices!s}, values={self._values!s}, dense_shape={self._dense_shape!s})"

    if TYPE_CHECKING:  # installed by thalweg._src.graph.ops.sparse_math

        def __mul__(self, other: Any) -> SparseTensor: ...
        def __rmul__(self, other: Any) -> SparseTensor: ...
        def __truediv__(self, other: Any) -> SparseTensor: ...


def _require_matching_components(indices: Shape, values: Shape, dense_shape: Shape) -> None:
    """Raises ValueError unless a SparseTensor can have components of these static shapes."""
    for field, shape, rank in (("indices", indices, 2), ("values", values, 1), ("dense_shape", dense_shape, 1)):
        if shape is not None and len(shape) != rank:
            raise ValueError(f"{field} of a SparseTensor must have rank {rank}, got shape {shapes.show(shape)}")
    rows, rank_of_index = indices or (None, None)
    # Only what is static is compared: rows of indices with values, columns of indices with the length of the shape.
    for what, size, other, its in (
        ("values", rows, values, "rows"),
        ("dense_shape", rank_of_index, dense_shape, "columns"),
    ):
        if other and not shapes.compatible((size,), other):
            raise ValueError(
                f"indices of a SparseTensor has {size} {its}, but {what} has {other[0]} elements: they must agree"
            )


def is_sparse(value: object) -> TypeGuard[SparseTensor | SparseTensorValue]:
    """Returns whether a value is a SparseTensor or the value of one."""
    return isinstance(value, SparseTensor | SparseTensorValue)


def components_of(value: SparseTensor | SparseTensorValue) -> tuple[Any, Any, Any]:
    return value.indices, value.values, value.dense_shape


@export("convert_to_tensor_or_sparse_tensor")
def convert_to_tensor_or_sparse_tensor(value: object, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Returns a value as a SparseTensor if it is sparse, else as a Tensor.

    Args:
        value: The value to convert.
        dtype: The element type; by default that of the value.
    """
    requested = None if dtype is None else dtypes.as_dtype(dtype)
    # A value becomes constants of the graph.
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if requested is not None and not requested.is_compatible_with(value.dtype):
            raise RuntimeError(f"Sparse dtype: requested = {requested.name}, actual = {value.dtype.name}")
        return value
    return convert_to_tensor(value, dtype=requested, name=name)


@export("convert_to_tensor_or_indexed_slices")
def convert_to_tensor_or_indexed_slices(value: object, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Returns IndexedSlices and sparse tensors unchanged, everything else as a Tensor.

    Args:
        value: The value to convert.
        dtype: The element type; by default that of the value.
    """
    if isinstance(value, Tensor | IndexedSlices | SparseTensor):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    return convert_to_tensor(value, dtype=dtype, name=name)
