"""FeatureColumn: the base classes of feature columns, and the cache of transformed features."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from thalweg._src.base import dtypes
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, not_equal
from thalweg._src.graph.ops.gather import gather_nd
from thalweg._src.graph.ops.reshape import expand_dims, rank, shape as shape_of
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


class IdsAndWeights(NamedTuple):
    """The categories of each example and their weights, both sparse; weights may be None."""

    id_tensor: SparseTensor
    weight_tensor: SparseTensor | None


class Features:
    """The features of one call, and the cache of transformed columns."""

    def __init__(self, features: Mapping[Any, Any]) -> None:
        self._raw = dict(features)
        self._transformed: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        """Returns a raw feature by name, or the transformed feature of a column."""
        if key not in self._transformed:
            if key in self._raw:
                self._transformed[key] = _at_least_matrix(key, self._raw[key])
            elif isinstance(key, str):
                raise ValueError(f"Feature {key} is not in features dictionary.")
            else:
                self._transformed[key] = key.transform(self)
        return self._transformed[key]


def _at_least_matrix(key: object, value: TensorLike | SparseTensor) -> Any:
    """Returns a feature of rank 2 or more; a vector gets a last dimension of size 1."""
    tensor = convert_to_tensor_or_sparse_tensor(value)
    if isinstance(tensor, SparseTensor):
        return tensor
    static = tensor.dims
    if static is None:
        return cond(equal(rank(tensor), 1), lambda: expand_dims(tensor, -1), lambda: tensor)
    if not static:
        raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {tensor}")
    return expand_dims(tensor, -1) if len(static) == 1 else tensor


def as_sparse(value: Tensor | SparseTensor) -> SparseTensor:
    """Returns a feature as a sparse tensor; "" and -1 in a dense one mean missing."""
    if isinstance(value, SparseTensor):
        return value
    nothing: Any = "" if value.dtype is dtypes.string else -1
    indices = where(not_equal(value, cast(nothing, value.dtype) if nothing == -1 else nothing))
    return SparseTensor(indices, gather_nd(value, indices), shape_of(value, out_type=dtypes.int64))


class FeatureColumn:
    """The base class of feature columns; columns with equal arguments are equal and share transformed features."""

    _fields: tuple[str, ...] = ()

    def _same(self) -> tuple[Any, ...]:
        return (type(self), *(getattr(self, field) for field in self._fields))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureColumn) and self._same() == other._same()

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    def __repr__(self) -> str:
        inner = ", ".join(f"{field}={getattr(self, field)!r}" for field in self._fields)
        return f"{type(self).__name__}({inner})"

    @property
    def name(self) -> str:
        """The name, by which columns are sorted and their variables named."""
        raise NotImplementedError(f"{type(self).__name__} does not define name")

    @property
    def scope(self) -> str:
        """The scope of the column's variables."""
        return self.name.replace(" ", "_")

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features for `tf.io.parse_example`."""
        raise NotImplementedError(f"{type(self).__name__} does not define parse_example_spec")

    def transform(self, features: Features) -> Any:
        """Returns the transformed feature."""
        raise NotImplementedError(f"{type(self).__name__} does not define transform")


class DenseColumn(FeatureColumn):
    """The base class of columns of dense vectors."""

    @property
    def variable_shape(self) -> Sequence[int]:
        """The shape of one example."""
        raise NotImplementedError(f"{type(self).__name__} does not define variable_shape")

    @property
    def size(self) -> int:
        """The number of elements of one example."""
        return math.prod(self.variable_shape)

    def dense(self, features: Features, collections: Sequence[str] | None = None, trainable: bool = True) -> Tensor:
        """Returns the dense tensor of all examples."""
        raise NotImplementedError(f"{type(self).__name__} does not define dense")


class CategoricalColumn(FeatureColumn):
    """The base class of categorical columns."""

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        raise NotImplementedError(f"{type(self).__name__} does not define num_buckets")

    def sparse(self, features: Features) -> IdsAndWeights:
        """Returns the ids and weights of all examples."""
        return IdsAndWeights(features.get(self), None)
