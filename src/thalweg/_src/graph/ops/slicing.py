"""Slicing: Slice, StridedSlice and `tensor[...]`.

The vectors and bit masks of a StridedSlice are first expanded to one Item per dimension of the input or new axis; shape
inference and kernels work on these items.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.errors import ShapeError
from thalweg._src.base.export import export, export_constants
from thalweg._src.base.shapes import Dimension, Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import pack
from thalweg._src.graph.ops.constants import array_constant
from thalweg._src.graph.ops.gather import boolean_mask
from thalweg._src.graph.ops.reshape import ones_like
from thalweg._src.graph.ops.shape_functions import require, shape_of_value
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

newaxis: None = None  # a new dimension of size 1 in an index, as in NumPy
_MASKS: dict[str, Any] = {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 0}


def _slice(c: Inference) -> Sequence[Shape]:
    source, begin, size = c.shapes[0], c.partial(1), c.partial(2)
    vectors = [len(v) for v in (begin, size) if v is not None and v.ndim == 1]
    vectors += [s[0] for s in c.shapes[1:] if s is not None and len(s) == 1 and s[0] is not None]
    require(all(s is None or len(s) == 1 for s in c.shapes[1:]), "begin and size must be vectors")
    rank = len(source) if source is not None else vectors[0] if vectors else None
    if rank is None:
        return [None]
    require(all(n == rank for n in vectors), f"begin and size have {vectors} entries", expected=f"{rank} entries")
    dims = source if source is not None else (None,) * rank
    first = [None] * rank if begin is None else begin.tolist()
    count = [None] * rank if size is None else size.tolist()
    return [tuple(_slice_size(i, *bounds) for i, bounds in enumerate(zip(dims, first, count)))]


def _slice_size(axis: int, dim: int | None, begin: int | None, size: int | None) -> int | None:
    if begin is not None:
        fits = begin >= 0 and (dim is None or begin <= dim)
        require(fits, f"Expected begin[{axis}] in [0, {'?' if dim is None else dim}], but got {begin}")
    if size is not None:
        require(size >= -1, f"size[{axis}] is {size}", expected=f"size[{axis}] >= 0, or -1 for the remainder")
    if size == -1:
        return None if dim is None or begin is None else dim - begin
    if dim is not None and begin is not None and size is not None:
        require(
            begin + size <= dim,
            f"Expected size[{axis}] in [0, {dim - begin}], but got {size}",
            expected=f"begin[{axis}] + size[{axis}] of at most {dim}, the size of dimension {axis}",
        )
    return size


def _slice_value(c: Inference) -> Any:
    value, begin, size = c.partial(0), c.value(1), c.value(2)
    if value is None or begin is None or size is None:
        return None
    return value[tuple(builtins.slice(b, None if s == -1 else b + s) for b, s in zip(begin, size))]


slice_op = op(
    "Slice",
    "input: T, begin: Index, size: Index -> output: T",
    T=attr.types(),
    Index=dtypes.INDEX,
    host="begin, size",
    infer=_slice,
    evaluate=_slice_value,
    doc="Extracts a slice with a start and a size per dimension.",
    traceable=True,
    fails="by shape",
    view="input",
)


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a strided slice: a range, a single index, or a new dimension.

    Bounds are integers; None where a bound is open, UNKNOWN where it is known only at run time.
    """

    kind: str  # "range", "index" or "new"
    begin: Any = None
    end: Any = None
    stride: Any = 1


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Any = _Unknown()


def items_of(masks: dict[str, int], begin: Any, end: Any, strides: Any, rank: int) -> list[Item]:
    """Returns the entries of a strided slice of a tensor with the given rank, with the ellipsis expanded."""
    count = len(begin)
    require(count == len(end) == len(strides), "begin, end and strides have different lengths")
    ellipsis, new_axis, shrink = masks["ellipsis_mask"], masks["new_axis_mask"], masks["shrink_axis_mask"]
    used = [i for i in range(count) if not (ellipsis | new_axis) >> i & 1]
    require(ellipsis & (ellipsis - 1) == 0, "more than one ellipsis in the slice")
    if len(used) > rank:
        what = f"Index out of range using input dim {rank}; input has only {rank} dims"
        raise ShapeError(what, expected=f"at most {rank} indices, not {len(used)}")
    skipped = [Item("range")] * (rank - len(used))
    items: list[Item] = []
    for i in range(count):
        if ellipsis >> i & 1:
            items += skipped
            skipped = []
        elif new_axis >> i & 1:
            items.append(Item("new"))
        elif shrink >> i & 1:
            require(strides[i] is UNKNOWN or strides[i] > 0, f"stride {strides[i]} with an index", expected="stride 1")
            items.append(Item("index", begin[i]))
        else:
            require(strides[i] != 0, f"strides[{i}] is 0", expected="a stride other than 0")
            first = None if masks["begin_mask"] >> i & 1 else begin[i]
            last = None if masks["end_mask"] >> i & 1 else end[i]
            items.append(Item("range", first, last, strides[i]))
    return items + skipped


def sliced_shape(source: Sequence[int | None], items: Sequence[Item]) -> Shape:
    """Returns the shape of a strided slice."""
    result: list[int | None] = []
    axis = 0
    for item in items:
        if item.kind == "new":
            result.append(1)
            continue
        size = source[axis]
        if item.kind == "index":
            if size is not None and item.begin is not UNKNOWN and not -size <= item.begin < size:
                raise ShapeError(
                    f"slice index {item.begin} of dimension {axis} out of bounds.",
                    expected=f"an index in [{-size}, {size})",
                )
        else:
            result.append(_range_size(size, item))
        axis += 1
    return tuple(result)


def _range_size(size: int | None, item: Item) -> int | None:
    if size is None or item.stride is UNKNOWN or item.begin is UNKNOWN or item.end is UNKNOWN:
        whole = item.begin is None and item.end is None and item.stride in (1, -1)
        return size if whole else None
    return len(range(*builtins.slice(item.begin, item.end, item.stride).indices(size)))


def _bounds(c: Inference, index: int, count: int) -> list[Any]:
    value = c.partial(index)
    return [UNKNOWN] * count if value is None else [UNKNOWN if e is None else e for e in value.tolist()]


def _spec_length(c: Inference, start: int) -> int | None:
    """Returns the number of entries of a strided slice, which begin, end and strides share."""
    lengths = set()
    for index in range(start, start + 3):
        vector = c.shapes[index]
        if vector is not None and len(vector) != 1:
            raise ShapeError(f"begin, end and strides must be vectors, got {show(vector)}")
        if vector is not None and vector[0] is not None:
            lengths.add(vector[0])
    if len(lengths) > 1:
        raise ShapeError(f"begin, end and strides have {sorted(lengths)} entries", expected="equal lengths")
    return lengths.pop() if lengths else None


def _strided_slice(c: Inference) -> Sequence[Shape]:
    source, count = c.shapes[0], _spec_length(c, 1)
    if source is None or count is None:
        return [None]
    begin, end, strides = (_bounds(c, i, count) for i in (1, 2, 3))
    return [sliced_shape(source, items_of(c.attrs, begin, end, strides, len(source)))]


def _strided_slice_value(c: Inference) -> Any:
    value = c.partial(0)
    begin, end, strides = (c.value(i) for i in (1, 2, 3))
    if value is None or begin is None or end is None or strides is None:
        return None
    items = items_of(c.attrs, begin.tolist(), end.tolist(), strides.tolist(), value.ndim)
    return np.asarray(value[index_of(items)], dtype=value.dtype)


def index_of(items: Sequence[Item]) -> tuple[Any, ...]:
    """Converts the entries of a strided slice to a Python index."""
    return tuple(
        None if i.kind == "new" else i.begin if i.kind == "index" else builtins.slice(i.begin, i.end, i.stride)
        for i in items
    )


strided_slice_op = op(
    "StridedSlice",
    "input: T, begin: Index, end: Index, strides: Index -> output: T",
    T=attr.types(),
    Index=dtypes.INDEX | {dtypes.int16},
    **_MASKS,
    host="begin, end, strides",
    infer=_strided_slice,
    evaluate=_strided_slice_value,
    doc="Extracts a slice described by Python's slices, indices, ellipsis and new axes.",
    traceable=True,
    fails="by shape",
    view="input",
)
strided_slice_grad_op = op(
    "StridedSliceGrad",
    "shape: Index, begin: Index, end: Index, strides: Index, dy: T -> output: T",
    T=attr.types(),
    Index=dtypes.INDEX,
    **_MASKS,
    host="shape, begin, end, strides",
    infer=shape_of_value(0),
    doc="Computes the gradient of StridedSlice: zeros of the given shape with a tensor in place of the slice.",
)


@export("slice")
def slice(input_: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None) -> Tensor:
    """Extracts a slice with a start and a size per dimension; -1 means the remainder.

    Args:
        size: Size along each dimension; -1 takes all that is left.
    """
    if isinstance(begin, list | tuple) and isinstance(size, Tensor) and not begin:
        begin = np.zeros(0, size.dtype.as_numpy_dtype)
    return slice_op(input_, _integers(begin), _integers(size), name=name)


def _integers(value: object) -> Any:
    """Returns an empty list as integers, since NumPy would make it floats."""
    return np.zeros(0, np.int32) if isinstance(value, list | tuple) and not value else value


@export("strided_slice")
def strided_slice(
    input_: TensorLike,
    begin: TensorLike,
    end: TensorLike,
    strides: TensorLike | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Extracts the slice from begin to end in steps of strides; masks leave bounds open.

    Args:
        end: Index after the last element along each dimension.
        strides: Step along each dimension; ones by default.
        begin_mask: Bit i set: `begin[i]` is ignored and the slice starts at the first element.
        end_mask: Bit i set: `end[i]` is ignored and the slice goes to the last element.
        ellipsis_mask: The bit that is set marks the position of an ellipsis.
        new_axis_mask: Bit i set: a dimension of size 1 is inserted there.
        shrink_axis_mask: Bit i set: the single element `begin[i]` is taken and the dimension dropped.
        var: The variable that the slice is taken of, if any.
    """
    if strides is None:
        strides = ones_like(convert_to_tensor(_integers(begin)))
    return strided_slice_op(
        input_,
        _integers(begin),
        _integers(end),
        _integers(strides),
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
        name=name,
    )


_BAD_INDEX = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are valid "
    "indices, got {!r}"
)


def _bound(value: object) -> Any:
    """Returns one bound as an int or a scalar integer tensor."""
    if isinstance(value, bool | np.bool_):
        raise TypeError(_BAD_INDEX.format(value))
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, Dimension):
        if value.value is None:
            raise TypeError("an unknown Dimension cannot be an index: use tf.shape(x)[i]")
        return value.value
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu":
        return int(value)
    if hasattr(value, "dtype"):
        tensor = convert_to_tensor(value)
        if tensor.dtype.base_dtype in (dtypes.int16, *dtypes.INDEX) and tensor.dims in ((), None):
            return int(tensor) if tensor.is_eager else tensor
    raise TypeError(_BAD_INDEX.format(value))


def getitem(tensor: Any, key: Any) -> Tensor:
    """Returns `tensor[key]`: integers, slices, ellipsis, new axes, scalar tensors, or one boolean mask."""
    if _is_mask(key):
        return boolean_mask(tensor, key)
    *lists, masks = _parsed(key)
    if stacks.is_eager and lists[0] and all(-(2**31) <= bound < 2**31 for bounds in lists for bound in bounds):
        return strided_slice_op(tensor, *lists, **masks)  # lists of numbers, by which calls are known
    with name_scope(None, "strided_slice", [tensor, *(bound for bounds in lists for bound in bounds)]) as scope:
        return strided_slice_op(tensor, *_packed(*lists), **masks, name=scope)


def strided_slice_arguments(key: Any) -> tuple[list[Tensor], dict[str, int]]:
    """Returns begin, end and strides of the slice `[key]`, and its masks."""
    *lists, masks = _parsed(key)
    return list(_packed(*lists)), masks


def _parsed(key: Any) -> tuple[Any, ...]:
    """Returns begin, end and strides as lists of numbers and tensors, and the masks."""
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    masks = dict.fromkeys(_MASKS, 0)
    for i, entry in enumerate(key if isinstance(key, list | tuple) else (key,)):
        bit = 1 << i
        first: Any = 0
        last: Any = 0
        step: Any = 1
        if isinstance(entry, builtins.slice):
            if entry.start is None or _is_open(entry.start):
                masks["begin_mask"] |= bit
            else:
                first = _bound(entry.start)
            if entry.stop is None or _is_open(entry.stop):
                masks["end_mask"] |= bit
            else:
                last = _bound(entry.stop)
            step = 1 if entry.step is None else _bound(entry.step)
        elif entry is Ellipsis:
            masks["ellipsis_mask"] |= bit
        elif entry is None:
            masks["new_axis_mask"] |= bit
        else:
            first = _bound(entry)
            # An index removes its dimension and end is ignored: a tensor index needs no addition.
            last = first if isinstance(first, Tensor) else first + 1
            masks["shrink_axis_mask"] |= bit
        begin.append(first)
        end.append(last)
        strides.append(step)
    return begin, end, strides, masks


def _is_open(bound: object) -> bool:
    return isinstance(bound, int) and bound == sys.maxsize


def _is_mask(key: object) -> bool:
    if isinstance(key, bool | np.bool_):
        return True
    return isinstance(key, Tensor | np.ndarray) and dtypes.as_dtype(key.dtype).base_dtype is dtypes.bool


def _packed(*lists: list[Any]) -> Iterator[Tensor]:
    """Returns the three vectors of a strided slice in one integer type."""
    tensors = [item for items in lists for item in items if isinstance(item, Tensor)]
    numbers = [item for items in lists for item in items if isinstance(item, int)]
    wide = any(t.dtype.base_dtype is dtypes.int64 for t in tensors) or any(not -(2**31) <= n < 2**31 for n in numbers)
    kind = dtypes.int64 if wide else dtypes.int32
    for items in lists:
        if any(isinstance(item, Tensor) for item in items):
            yield pack([_as_type(item, kind) for item in items], name="stack")
        else:
            yield array_constant(np.array(items, kind.as_numpy_dtype), kind, name="stack")


def _as_type(value: TensorLike, kind: dtypes.DType) -> Tensor:
    if isinstance(value, Tensor) and value.dtype.base_dtype is not kind:
        result: Tensor = cast(value, kind)
        return result
    return convert_to_tensor(value, kind)


_getitem: Callable[..., Any] = getitem
Tensor._override_operator("__getitem__", _getitem)

export_constants(
    newaxis="newaxis",
)
