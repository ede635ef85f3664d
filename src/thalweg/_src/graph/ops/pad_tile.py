"""Tile, pad, reverse, roll, broadcast and repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.errors import require_text
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, ShapeLike, TensorShape, broadcast, compatible, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference, complete, static_value
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape, size
from thalweg._src.graph.ops.shape_functions import at_least_rank, normalize_axis, require, vector_size
from thalweg._src.graph.ops.where import sequence_mask, where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_INDEX = attr.types(dtypes.INDEX, dtypes.int32)


def _tile(c: Inference) -> Sequence[Shape]:
    source, multiples = c.shapes[0], c.partial(1)
    length = c.shapes[1]
    require(length is None or len(length) == 1, f"multiples must be a vector, got {show(length)}")
    rank = len(source) if source is not None else length[0] if length is not None else None
    if rank is None:
        return [None]
    count = rank if length is None or length[0] is None else length[0]
    factors = [None] * count if multiples is None else multiples.tolist()
    require(len(factors) == rank, f"multiples has {len(factors)} entries", expected=f"{rank}, one for each dimension")
    require(all(m is None or m >= 0 for m in factors), f"multiples {factors} has a negative entry")
    dims = source if source is not None else (None,) * rank
    return [tuple(0 if 0 in (d, m) else None if None in (d, m) else d * m for d, m in zip(dims, factors))]


tile = export("tile", "manip.tile", multiples="How often the tensor is repeated along each dimension.")(
    op(
        "Tile",
        "input: T, multiples: Tmultiples -> output: T",
        T=attr.types(),
        Tmultiples=_INDEX,
        host="multiples",
        infer=_tile,
        doc="Repeats a tensor along its dimensions.",
        traceable=True,
        fails="by shape",
    )
)


def _padded(c: Inference) -> Sequence[Shape]:
    source, paddings, limit = c.shapes[0], c.partial(1), c.shapes[1]
    _require_pairs(source, limit)
    if len(c.shapes) > 2:
        require(c.shapes[2] in ((), None), f"constant_values must be a scalar, got {show(c.shapes[2])}")
    if paddings is None:
        rank = len(source) if source is not None else limit[0] if limit is not None else None
        return [None if rank is None else (None,) * rank]
    rows = paddings.tolist()
    require(all(p is None or p >= 0 for row in rows for p in row), f"paddings {rows} has a negative entry")
    dims = source if source is not None else (None,) * len(rows)
    _require_mirrored(c, dims, rows)
    return [tuple(None if None in (d, *row) else d + sum(row) for d, row in zip(dims, rows))]


def _require_pairs(source: Shape, paddings: Shape) -> None:
    """Requires a pair of paddings per dimension."""
    require(
        paddings is None or (len(paddings) == 2 and paddings[1] in (2, None)),
        f"paddings has shape {show(paddings)}",
        expected="[n, 2]",
    )
    if source is not None and paddings is not None:
        require(paddings[0] in (None, len(source)), f"paddings has {paddings[0]} rows", expected=f"{len(source)} rows")


def _require_mirrored(c: Inference, dims: Sequence[int | None], rows: list[list[Any]]) -> None:
    """Limits mirror padding to the size of the dimension, or one less without the edge."""
    mode = c.attrs.get("mode")
    if mode is None:
        return
    for axis, (dim, row) in enumerate(zip(dims, rows)):
        limit = None if dim is None else dim - (mode == "REFLECT")
        require(
            limit is None or all(p is None or p <= limit for p in row),
            f"paddings[{axis}] {row} is too large for dimension {axis} of size {dim}",
            expected=f"at most {limit} with mode {mode}",
        )


pad_op = op(
    "Pad",
    "input: T, paddings: Tpaddings -> output: T",
    T=attr.types(),
    Tpaddings=_INDEX,
    host="paddings",
    infer=_padded,
    traceable=True,
    fails="by shape",
    doc="Pads a tensor with zeros.",
)
pad_v2_op = op(
    "PadV2",
    "input: T, paddings: Tpaddings, constant_values: T -> output: T",
    T=attr.types(),
    Tpaddings=_INDEX,
    host="paddings",
    infer=_padded,
    traceable=True,
    fails="by shape",
    doc="Pads a tensor with a constant value.",
)
mirror_pad_op = op(
    "MirrorPad",
    "input: T, paddings: Tpaddings -> output: T",
    T=attr.types(),
    Tpaddings=_INDEX,
    mode=attr.string("REFLECT", "SYMMETRIC"),
    host="paddings",
    infer=_padded,
    doc="Pads a tensor with mirrored values.",
)


def _unpadded(c: Inference) -> Sequence[Shape]:
    source, paddings = c.shapes[0], c.value(1)
    _require_pairs(source, c.shapes[1])
    if source is None or paddings is None:
        return [None if source is None else (None,) * len(source)]
    require(bool((paddings >= 0).all()), f"paddings {paddings.tolist()} has a negative entry")
    dims = [None if d is None else d - int(sum(row)) for d, row in zip(source, paddings)]
    require(all(d is None or d >= 0 for d in dims), f"paddings {paddings.tolist()} exceed {show(source)}")
    _require_mirrored(c, dims, paddings.tolist())
    return [tuple(dims)]


mirror_pad_grad_op = op(
    "MirrorPadGrad",
    "input: T, paddings: Tpaddings -> output: T",
    T=attr.types(),
    Tpaddings=_INDEX,
    mode=attr.string("REFLECT", "SYMMETRIC"),
    host="paddings",
    infer=_unpadded,
    doc="Computes the gradient of mirror padding: sums the mirrored elements.",
)


@export("pad")
def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: TensorLike = 0,
) -> Tensor:
    """Pads each dimension of a tensor before and after: with a constant, or mirrored.

    Args:
        tensor: The tensor to pad.
        paddings: Number of elements to add before and after each dimension, of shape [rank, 2].
        mode: "CONSTANT", "REFLECT" (without the border element) or "SYMMETRIC" (with it).
        constant_values: The value to pad with in mode "CONSTANT".
    """
    require_text("mode", mode)
    mode = mode.upper()
    if mode == "CONSTANT":
        if isinstance(constant_values, int | float) and constant_values == 0:
            return pad_op(tensor, paddings, name=name)
        return pad_v2_op(tensor, paddings, constant_values, name=name)
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"Unknown padding mode: {mode}")
    return mirror_pad_op(tensor, paddings, mode=mode, name=name)


def _reversed(c: Inference) -> Sequence[Shape]:
    source, axes = c.shapes[0], c.value(1)
    require(c.shapes[1] is None or len(c.shapes[1]) == 1, f"axis must be a vector, got {show(c.shapes[1])}")
    if source is not None and axes is not None:
        positions = [normalize_axis(int(axis), len(source)) for axis in axes]
        require(len(set(positions)) == len(positions), f"axis {axes.tolist()} contains a duplicate dimension")
    return [source]


reverse_op = op(
    "ReverseV2",
    "tensor: T, axis: Tidx -> output: T",
    Tidx=_INDEX,
    T=dtypes.NUMERIC | {dtypes.bool, dtypes.string},
    host="axis",
    infer=_reversed,
    evaluate=lambda c: None if (value := c.partial(0)) is None else np.flip(value, tuple(c.value(1))),  # type: ignore[arg-type]
    doc="Reverses a tensor along some dimensions.",
    fails="never",
)


@export("reverse", "reverse_v2", "manip.reverse")
def reverse(tensor: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """Reverses a tensor along the given axes.

    Args:
        axis: The axes to reverse.
    """
    axis = np.zeros(0, np.int32) if isinstance(axis, list | tuple) and not axis else axis
    return reverse_op(tensor, axis, name=name)


reverse_v2 = reverse


def _reversed_sequences(c: Inference) -> Sequence[Shape]:
    source, lengths = c.shapes
    require(lengths is None or len(lengths) == 1, f"seq_lengths must be a vector, got {show(lengths)}")
    for name in ("seq_dim", "batch_dim"):
        require(c.attrs[name] >= 0, f"{name} is {c.attrs[name]}", expected="at least 0")
    if source is None:
        return [None]
    batch = normalize_axis(c.attrs["batch_dim"], len(source), "batch_dim")
    sequence = normalize_axis(c.attrs["seq_dim"], len(source), "seq_dim")
    require(batch != sequence, f"batch_dim and seq_dim are both {batch}")
    if lengths is not None:
        fits = None in (lengths[0], source[batch]) or lengths[0] == source[batch]
        require(fits, f"seq_lengths has {lengths[0]} entries", expected=f"{source[batch]}, one for each batch")
    return [source]


reverse_sequence_op = op(
    "ReverseSequence",
    "input: T, seq_lengths: Tlen -> output: T",
    seq_dim=attr.integer(),
    batch_dim=0,
    T=attr.types(),
    Tlen=attr.types(dtypes.INDEX, dtypes.int64),
    infer=_reversed_sequences,
    doc="Reverses sequences, each up to its length.",
)


@export("reverse_sequence")
def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Reverses each sequence up to its length."""
    along = seq_dim if seq_axis is None else seq_axis
    batch = batch_dim if batch_axis is None else batch_axis
    if along is None:
        raise ValueError("reverse_sequence needs seq_axis")
    return reverse_sequence_op(input, seq_lengths, seq_dim=along, batch_dim=0 if batch is None else batch, name=name)


def _broadcast_to(c: Inference) -> Sequence[Shape]:
    source, target = c.shapes[0], c.shape_value(1)
    vector_size(c, 1)
    sizes = c.partial(1)
    bad = [] if sizes is None else [e for e in sizes.tolist() if e is not None and e < -1]
    require(not bad, f"shape has a negative size: {bad[:1]}", expected="non-negative sizes")
    if source is None or target is None:
        return [target]
    fits = len(source) <= len(target) and all(
        d in (1, None) or t is None or d == t for d, t in zip(reversed(source), reversed(target))
    )
    require(fits, f"shape {show(source)} does not broadcast to {show(target)}", expected="equal sizes, or 1")
    new = len(target) - len(source)
    return [(*target[:new], *(d if t is None and d not in (0, 1) else t for d, t in zip(source, target[new:])))]


broadcast_to = export("broadcast_to", "contrib.framework.broadcast_to", shape="The shape.")(
    op(
        "BroadcastTo",
        "input: T, shape: Tidx -> output: T",
        T=attr.types(),
        Tidx=_INDEX,
        host="shape",
        infer=_broadcast_to,
        doc="Broadcasts a tensor to a shape.",
        traceable=True,
        fails="by shape",
        view="input",
    )
)


def _broadcast_shape_value(c: Inference) -> Any:
    first, second = (
        None if (v := c.partial(i)) is None else tuple(None if e is None else int(e) for e in v) for i in (0, 1)
    )
    result = None if first is None or second is None else broadcast(first, second)
    return None if result is None else np.array([*result, None], dtype=object)[:-1]


def _broadcast_shape(c: Inference) -> Sequence[Shape]:
    lengths = [vector_size(c, i) for i in (0, 1)]
    return [(None if None in lengths else max(lengths),)]  # type: ignore[type-var]


broadcast_args_op = nondifferentiable_op(
    "BroadcastArgs",
    "s0: T, s1: T -> r0: T",
    "Computes the shape that two shapes broadcast to.",
    T=_INDEX,
    host="s0, s1, r0",
    infer=_broadcast_shape,
    evaluate=_broadcast_shape_value,
)


@export("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x: ShapeLike | TensorLike, shape_y: ShapeLike | TensorLike) -> Tensor:
    """Computes the shape that two shape tensors broadcast to."""
    return broadcast_args_op(shape_x, shape_y)


@export("broadcast_static_shape")
def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """Returns the shape that two static shapes broadcast to."""
    return TensorShape(broadcast(shapes.as_shape(shape_x), shapes.as_shape(shape_y)))


def _rolled(c: Inference) -> Sequence[Shape]:
    at_least_rank(c, 0, 1)
    shift, axis = c.shapes[1:]
    for name, dims in (("shift", shift), ("axis", axis)):
        require(dims is None or len(dims) < 2, f"{name} has shape {show(dims)}", expected="a scalar or a vector")
    if shift is not None and axis is not None:
        same = len(shift) == len(axis) and compatible(shift, axis)
        require(same, f"shift {show(shift)} and axis {show(axis)} have different shapes", expected="one shift per axis")
    return c.shapes[:1]


roll = export("roll", "manip.roll", shift="How far elements move along each axis.", axis="The axes to move along.")(
    op(
        "Roll",
        "input: T, shift: Tshift, axis: Taxis -> output: T",
        T=attr.types(),
        Tshift=dtypes.INDEX,
        Taxis=dtypes.INDEX,
        host="shift, axis",
        infer=_rolled,
        doc="Rolls a tensor along dimensions; elements shifted past one end reappear at the other.",
    )
)


@export("repeat")
def repeat(input: TensorLike, repeats: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """Repeats each slice along an axis; without an axis, each element.

    Args:
        repeats: How often each slice is repeated.
        axis: The axis to repeat along; None flattens the tensor first.
    """
    with name_scope(name, "Repeat", [input, repeats]):
        data = convert_to_tensor(input, name="input")
        counts = convert_to_tensor(repeats, name="repeats")
        if axis is None:
            data, axis = reshape(data, [-1]), 0
        elif data.dims is not None and not -len(data.dims) <= axis < len(data.dims):
            raise ValueError(f"axis: expected one of the {len(data.dims)} dimensions of the input, received {axis}")
        fixed, length = complete(static_value(counts)), None if data.dims is None else data.dims[axis]
        if fixed is not None and length is not None:
            return gather(data, np.repeat(np.arange(length, dtype=np.int32), fixed), axis=axis)
        dims: Any = shape(data)
        rows = broadcast_to(reshape(counts, [-1]), expand_dims(dims[axis], 0))
        positions: Any = where(sequence_mask(rows))
        return gather(data, positions[:, 0], axis=axis)


@export("meshgrid")
def meshgrid(*args: TensorLike, indexing: str = "xy", name: str | None = "meshgrid") -> list[Tensor]:
    """Returns the coordinates of a grid over vectors, one tensor for each; `indexing` is "xy" or "ij".

    Args:
        *args: The coordinates along each axis, vectors.
        indexing: "xy" swaps the first two dimensions, "ij" keeps the order of the vectors.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is {indexing!r}, expected 'xy' or 'ij'")
    with name_scope(name, "meshgrid", args):
        vectors = [convert_to_tensor(arg) for arg in args]
        count = len(vectors)
        order = list(range(count))
        if indexing == "xy" and count > 1:
            order[0], order[1] = 1, 0
        if not vectors:
            return []
        lengths = concat([expand_dims(size(vectors[i]), 0) for i in order], 0)
        grids = []
        for i, vector in enumerate(vectors):
            sizes = [1] * count
            sizes[order.index(i)] = -1
            grids.append(broadcast_to(reshape(vector, sizes), lengths))
        return grids
