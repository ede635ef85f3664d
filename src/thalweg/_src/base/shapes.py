"""Static shapes: plain tuples internally, TensorShape and Dimension in the public API."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from math import prod
from numbers import Real
from typing import Any, TypeAlias, overload

from thalweg._src.base.errors import ShapeError
from thalweg._src.base.export import export

# None is a shape of unknown rank, a None dimension is one of unknown size.
Shape: TypeAlias = tuple[int | None, ...] | None
# What public functions accept as a shape.
ShapeLike: TypeAlias = "TensorShape | Sequence[int | Dimension | None] | int | None"


def as_shape(value: Any) -> Shape:
    """Converts a TensorShape, sequence, single dimension, shape proto or None to a tuple, or None for unknown rank."""
    if value is None:
        return None
    kind = type(value)
    if kind is TensorShape:
        return value._dims  # type: ignore[no-any-return]
    if kind is tuple or kind is list:
        for size in value:
            if size is not None and (type(size) is not int or size < 0):
                break
        else:
            return value if kind is tuple else tuple(value)
    if hasattr(value, "unknown_rank"):
        return None if value.unknown_rank else tuple(None if dim.size == -1 else dim.size for dim in value.dim)
    if kind is Dimension or (hasattr(value, "__index__") and getattr(value, "ndim", 0) == 0):
        return (_as_size(value),)
    if isinstance(value, str | bytes):
        raise TypeError(f"A shape is a list of sizes such as [32, None], not the string {value!r}.")
    try:
        sizes = iter(value)
    except TypeError:
        return (_as_size(value),)
    return tuple(map(_as_size, sizes))


def is_whole(value: object) -> bool:
    """Returns whether a float is an integer: `width / 2` yields such a float where an integer is meant."""
    return isinstance(value, Real) and not hasattr(value, "__index__") and bool(value == value // 1)


def _as_size(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, Dimension):
        return value._value
    try:
        size = operator.index(int(value) if is_whole(value) else value)
    except TypeError:
        raise TypeError(f"A dimension is an integer or None, not {value!r} of type {type(value).__name__}.") from None
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0; an unknown dimension is None.")
    return int(size)


def is_fully_defined(shape: Shape) -> bool:
    """Returns whether rank and all sizes are known."""
    return shape is not None and None not in shape


def num_elements(shape: Shape) -> int | None:
    """Returns the number of elements, None when a size is unknown."""
    if shape is None or None in shape:
        return None
    return prod(shape)  # type: ignore[arg-type]


def rank(shape: Shape) -> int | None:
    """Returns the number of dimensions, None when unknown."""
    return None if shape is None else len(shape)


def in_common(a: Shape, b: Shape) -> Shape:
    """Returns the most specific shape of a value that has one shape or the other."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b))


def compatible(a: Shape, b: Shape) -> bool:
    """Returns whether some fully defined shape matches both."""
    if a is None or b is None or a == b:
        return True
    return len(a) == len(b) and all(x == y or x is None or y is None for x, y in zip(a, b))


def merge(a: Shape, b: Shape) -> Shape:
    """Merges two static shapes of one tensor; raises ValueError when they contradict each other."""
    if b is None or a == b:
        return a
    if a is None:
        return b
    if len(a) != len(b):
        what = f"Shapes must be equal rank, but are {len(a)} and {len(b)}"
        raise ShapeError(what, in_step=f"Incompatible shapes: {compact(a)} vs. {compact(b)}")
    sizes = []
    for axis, (x, y) in enumerate(zip(a, b)):
        if x == y or y is None:
            sizes.append(x)
        elif x is None:
            sizes.append(y)
        else:
            raise different_sizes(axis, a, b)
    return tuple(sizes)


def different_sizes(axis: int, a: Shape, b: Shape, in_step: str | None = None) -> ShapeError:
    """Returns the error of two shapes that must have the same size in a dimension."""
    assert a is not None and b is not None
    return ShapeError(
        f"Dimension {axis} in both shapes must be equal, but are {a[axis]} and {b[axis]}. "
        f"Shapes are {compact(a)} and {compact(b)}.",
        in_step=in_step or f"Incompatible shapes: {compact(a)} vs. {compact(b)}",
    )


def concatenate(a: Shape, b: Shape) -> Shape:
    """Appends the dimensions of the second shape to those of the first."""
    return None if a is None or b is None else a + b


def most_general(a: Shape, b: Shape) -> Shape:
    """Returns the most specific shape that both shapes are instances of."""
    if a == b:
        return a
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple([x if x == y else None for x, y in zip(a, b)])


def broadcast(a: Shape, b: Shape, in_step: str | None = None) -> Shape:
    """Returns the shape of an element-wise operation on two tensors."""
    if a == b:
        return a
    if a is None or b is None:
        return None
    if not b:
        return a
    if not a:
        return b
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    lead = len(longer) - len(shorter)
    sizes = list(longer[:lead])
    for axis, y in enumerate(shorter, lead):
        x = longer[axis]
        if y in (x, 1):
            sizes.append(x)
        elif x == 1 or x is None:
            sizes.append(y)
        elif y is None:
            sizes.append(x)
        else:
            first, second = (x, y) if longer is a else (y, x)
            raise ShapeError(
                f"Dimensions must be equal, but are {first} and {second}",
                expected="shapes that broadcast: equal sizes, or 1, counted from the last dimension; "
                f"{first} and {second} meet at dimension {axis - len(longer)}",
                in_step=in_step or f"Incompatible shapes: {compact(a)} vs. {compact(b)}",
            )
    return tuple(sizes)


def show(shape: Shape) -> str:
    """Formats a shape as `[32, ?]`."""
    return "<unknown>" if shape is None else f"[{', '.join('?' if d is None else str(d) for d in shape)}]"


def compact(shape: Shape) -> str:
    """Formats a shape as `[32,?]`, the form in the known sentences of errors."""
    return show(shape).replace(" ", "")


@export("Dimension")
class Dimension:
    """One size of a shape, possibly unknown; arithmetic with an unknown size gives an unknown size.

    Args:
        value: The size, or None if it is unknown.
    """

    __slots__ = ("_value",)

    _value: int | None

    def __init__(self, value: int | Dimension | None) -> None:
        self._value = _as_size(value)

    @property
    def value(self) -> int | None:
        """The size, or None."""
        return self._value

    def is_compatible_with(self, other: int | Dimension | None) -> bool:
        """Returns whether both may be the same size."""
        other_value = _as_size(other)
        return self._value == other_value or self._value is None or other_value is None

    def assert_is_compatible_with(self, other: int | Dimension | None) -> None:
        """Raises ValueError unless both may be the same size."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible.")

    def merge_with(self, other: int | Dimension | None) -> Dimension:
        """Returns the known size of the two."""
        self.assert_is_compatible_with(other)
        return Dimension(other if self._value is None else self._value)

    def __add__(self, other: object) -> Dimension:
        return _combine(operator.add, self, other)

    def __radd__(self, other: object) -> Dimension:
        return _combine(operator.add, other, self)

    def __sub__(self, other: object) -> Dimension:
        return _combine(operator.sub, self, other)

    def __rsub__(self, other: object) -> Dimension:
        return _combine(operator.sub, other, self)

    def __mul__(self, other: object) -> Dimension:
        return _combine(operator.mul, self, other)

    def __rmul__(self, other: object) -> Dimension:
        return _combine(operator.mul, other, self)

    def __floordiv__(self, other: object) -> Dimension:
        return _combine(operator.floordiv, self, other)

    def __rfloordiv__(self, other: object) -> Dimension:
        return _combine(operator.floordiv, other, self)

    def __mod__(self, other: object) -> Dimension:
        return _combine(operator.mod, self, other)

    def __rmod__(self, other: object) -> Dimension:
        return _combine(operator.mod, other, self)

    def __truediv__(self, other: object) -> Dimension:
        raise TypeError("A Dimension is an integer: divide with // instead of /.")

    __rtruediv__ = __truediv__

    def __eq__(self, other: object) -> bool | None:  # type: ignore[override]
        return _compare(operator.eq, self, other)

    def __ne__(self, other: object) -> bool | None:  # type: ignore[override]
        return _compare(operator.ne, self, other)

    def __lt__(self, other: object) -> bool | None:
        return _compare(operator.lt, self, other)

    def __le__(self, other: object) -> bool | None:
        return _compare(operator.le, self, other)

    def __gt__(self, other: object) -> bool | None:
        return _compare(operator.gt, self, other)

    def __ge__(self, other: object) -> bool | None:
        return _compare(operator.ge, self, other)

    # Equality with an unknown size is neither true nor false, so no hash is consistent with it.
    __hash__ = None  # type: ignore[assignment]

    def __index__(self) -> int:
        if self._value is None:
            raise TypeError(
                "__int__ returned non-int (type NoneType): the size of this Dimension is unknown until a step runs"
            )
        return self._value

    __int__ = __index__

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)


def _combine(function: Callable[[int, int], int], a: object, b: object) -> Dimension:
    try:
        x, y = _as_size(a), _as_size(b)
    except (TypeError, ValueError):
        return NotImplemented  # type: ignore[no-any-return]
    return Dimension(None if x is None or y is None else function(x, y))


def _compare(function: Callable[[int, int], bool], a: object, b: object) -> bool | None:
    try:
        x, y = _as_size(a), _as_size(b)
    except (TypeError, ValueError):
        return NotImplemented  # type: ignore[no-any-return]
    return None if x is None or y is None else function(x, y)


@export("TensorShape")
class TensorShape:
    """The static shape of a tensor: rank and sizes, each possibly unknown."""

    __slots__ = ("_dims",)

    _dims: Shape

    def __init__(self, dims: ShapeLike) -> None:
        self._dims = as_shape(dims)

    @property
    def dims(self) -> list[Dimension] | None:
        """The list of Dimensions, None when the rank is unknown."""
        return None if self._dims is None else [Dimension(size) for size in self._dims]

    @property
    def rank(self) -> int | None:
        """The number of dimensions, None when unknown."""
        return None if self._dims is None else len(self._dims)

    ndims = rank

    def as_proto(self) -> Any:
        """Returns the shape as a TensorShapeProto message."""
        from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

        if self._dims is None:
            return TensorShapeProto(unknown_rank=True)
        sizes = (-1 if size is None else size for size in self._dims)
        return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])

    def as_list(self) -> list[int | None]:
        """Returns the sizes, None for an unknown one."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def num_elements(self) -> int | None:
        """Returns the number of elements, None when a size is unknown."""
        return num_elements(self._dims)

    def is_fully_defined(self) -> bool:
        """Returns whether rank and all sizes are known."""
        return is_fully_defined(self._dims)

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Returns whether some fully defined shape matches both."""
        return compatible(self._dims, as_shape(other))

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError unless rank and all sizes are known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined.")

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raises ValueError unless some fully defined shape matches both."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def assert_has_rank(self, rank: int) -> None:
        """Raises ValueError when the rank is known to differ."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}.")

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raises ValueError when both ranks are known and differ."""
        other = TensorShape(other)
        if None not in (self.rank, other.rank) and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank.")

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """Merges two static shapes of one tensor."""
        try:
            return TensorShape(merge(self._dims, as_shape(other)))
        except ShapeError:
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are not compatible") from None

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """Returns this shape followed by the dimensions of `other`."""
        return TensorShape(concatenate(self._dims, as_shape(other)))

    def most_specific_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """Returns the most specific shape that both shapes are instances of."""
        return TensorShape(most_general(self._dims, as_shape(other)))

    def with_rank(self, rank: int) -> TensorShape:
        """Returns this shape merged with an unknown shape of the given rank."""
        self.assert_has_rank(rank)
        return unknown_shape(rank) if self._dims is None else self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Returns this shape, or raises ValueError when its rank is less."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}.")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Returns this shape, or raises ValueError when its rank is greater."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}.")
        return self

    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...
    @overload
    def __getitem__(self, key: Any) -> Dimension: ...

    def __getitem__(self, key: Any) -> Dimension | TensorShape:
        if not isinstance(key, slice):
            return Dimension(None if self._dims is None else self._dims[key])
        if self._dims is not None:
            return TensorShape(self._dims[key])
        if key.step is not None:
            raise ValueError("A shape of unknown rank cannot be sliced with a step.")
        start, stop = _as_bound(key.start, 0), _as_bound(key.stop, -1)
        # An index relative to the end needs the rank.
        return unknown_shape() if start < 0 or stop < 0 else unknown_shape(max(stop - start, 0))

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __iter__(self) -> Iterator[Dimension]:
        if self._dims is None:
            raise ValueError("A shape of unknown rank cannot be iterated over.")
        return map(Dimension, self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        try:
            return self._dims == as_shape(other)
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        sizes = ["?" if size is None else str(size) for size in self._dims]
        return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def _as_bound(value: Any, default: int) -> int:
    return default if value is None else operator.index(value)


def as_dimension(value: Any) -> Dimension:
    """Converts an integer or None to a Dimension."""
    return value if isinstance(value, Dimension) else Dimension(value)


def unknown_shape(rank: int | None = None, *, ndims: int | None = None) -> TensorShape:
    """Returns a shape of unknown sizes, and of unknown rank when no rank is given."""
    rank = ndims if rank is None else rank
    return TensorShape(None if rank is None else (None,) * rank)


@export("dimension_value", "compat.dimension_value")
def dimension_value(dimension: Dimension | int | None) -> int | None:
    """Returns the size of a Dimension, an integer or None.

    Args:
        dimension: A `Dimension`, an integer or None.
    """
    return dimension._value if isinstance(dimension, Dimension) else dimension


@export("dimension_at_index", "compat.dimension_at_index")
def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """Returns one dimension of a shape, an unknown one if the rank is unknown.

    Args:
        shape: The static shape.
        index: Number of the dimension.
    """
    return TensorShape(shape)[index]
