"""assert_shapes: static and dynamic checks of the shapes of several tensors, with symbols for equal sizes."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, as_shape, show
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, greater_equal, less_equal
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.reshape import shape as shape_of, size as size_of
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_MANY = ("...", "*")
_ANY = (None, ".")


class _Checked:
    """A tensor with its required sizes, counted from the last dimension."""

    def __init__(self, x: TensorLike, sizes: Any) -> None:
        self.x = x if isinstance(x, SparseTensor) else convert_to_tensor(x)
        self.name = self.x.values.name if isinstance(self.x, SparseTensor) else self.x.name
        if isinstance(sizes, numbers.Number) or not (hasattr(sizes, "__iter__") or hasattr(sizes, "__getitem__")):
            raise ValueError(f"Tensor {self.name}: the specified shape must be an iterable, received {sizes!r}")
        symbols = [_plain(size) for size in sizes]
        self.open = bool(symbols) and symbols[0] in _MANY
        self.symbols = symbols[1:] if self.open else symbols
        if any(symbol in _MANY for symbol in self.symbols):
            raise ValueError(f"Tensor {self.name}: '...' or '*' may only be the first entry of {tuple(symbols)}")
        self.static: Shape = as_shape(self.x.get_shape())

    def require_rank(self, data: Any, summarize: Any, message: str) -> list[Operation]:
        """Checks the rank, statically if it is known; a scalar counts as a vector of one element."""
        count = len(self.symbols)
        least = count if self.open or count > 1 else 0
        most = None if self.open else max(count, 1)
        text = f"{message}Tensor {self.name} must have rank {'at least ' if self.open else ''}{count}"
        if self.static is not None:
            if len(self.static) < least or (most is not None and len(self.static) > most):
                raise ValueError(f"{text}; it has rank {len(self.static)}, its shape is {show(self.static)}")
            return []
        rank = size_of(self.dynamic)
        checks = [Assert(greater_equal(rank, least), data or [text, self.dynamic], summarize)] if least else []
        return (
            checks
            if most is None
            else [*checks, Assert(less_equal(rank, most), data or [text, self.dynamic], summarize)]
        )

    def sizes(self) -> list[tuple[int, Any]]:
        """Returns the position, counted from the last, and the symbol of each size with a requirement."""
        symbols = self.symbols or ([] if self.open else [1])
        return [(i - len(symbols), symbol) for i, symbol in enumerate(symbols) if symbol not in _ANY]

    @property
    def dynamic(self) -> Tensor:
        return self.x.dense_shape if isinstance(self.x, SparseTensor) else shape_of(self.x)

    def size(self, place: int) -> Any:
        """Returns a size, an integer if it is known statically."""
        if self.static is None:
            return cast(concat([[1], cast(self.dynamic, dtypes.int32)], 0)[place], dtypes.int32)
        if len(self.static) < -place:
            return 1  # a scalar
        static_size = self.static[place]
        return cast(self.dynamic[place], dtypes.int32) if static_size is None else static_size


def _plain(size: object) -> Any:
    value = getattr(size, "value", size)  # a Dimension
    return int(value) if isinstance(value, numbers.Integral) else value


@export("debugging.assert_shapes")
def assert_shapes(
    shapes: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless tensors have the given shapes: pairs, or a dictionary.

    A size is a number, a symbol (equal symbols mean equal sizes), or None or "." for any; "..." or "*" at the start
    stands for any number of dimensions. Statically known shapes are checked immediately.

    Args:
        shapes: Pairs (tensor, shape), or a dictionary of shapes by tensor.
        data: Tensors that are printed with the error; by default the inputs.
        summarize: How many entries of each tensor are printed with the error.
    """
    pairs = list(shapes.items() if isinstance(shapes, dict) else shapes)
    intro = f"{message}: " if message else ""
    with name_scope(name, "assert_shapes", [x for x, _ in pairs]):
        checked = [_Checked(x, sizes) for x, sizes in pairs]
        checks = [check for item in checked for check in item.require_rank(data, summarize, intro)]
        seen: dict[Any, tuple[Any, str]] = {}
        for item in checked:
            for place, symbol in item.sizes():
                expected, source = (symbol, "") if isinstance(symbol, int) else seen.get(symbol, (None, ""))
                actual = item.size(place)
                where = f"dimension {place + len(item.symbols or [1])} of tensor {item.name}"
                if expected is None:
                    seen[symbol] = (actual, f", the size {symbol!r} of {where}")
                    continue
                checks += _require_size(actual, expected, f"{intro}{where} must have size", source, data, summarize)
                if isinstance(expected, Tensor) and not isinstance(actual, Tensor):
                    seen[symbol] = (actual, f", the size {symbol!r} of {where}")
        return group(*checks)


def _require_size(
    actual: int | Tensor,
    expected: int | Tensor,
    text: str,
    source: str,
    data: Sequence[TensorLike] | None,
    summarize: int | None,
) -> list[Operation]:
    if isinstance(actual, Tensor) or isinstance(expected, Tensor):
        return [Assert(equal(actual, expected), data or [text, expected, f"{source}; it is", actual], summarize)]
    if actual != expected:
        raise ValueError(f"{text} {expected}{source}; it is {actual}")
    return []
