"""Gather and scatter on a variable's buffer: rows by index, slices by index vectors, with duplicate indices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from thalweg._src.base.errors import invalid
from thalweg._src.graph.ops.state import scatter_nd_shapes, scatter_shapes
from thalweg._src.runtime.kernels.types import TensorValue

# torch cannot index wide unsigned types, and their sums have the bits of signed sums.
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
_TOP_BIT = -(2**63)
_Combine = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def movable(value: torch.Tensor) -> torch.Tensor:
    """Returns the same memory as a type that torch indexes and adds."""
    signed = _SIGNED.get(value.dtype)
    return value if signed is None else value.view(signed)


def is_in_range(indices: torch.Tensor, limit: int) -> bool:
    """Returns whether all indices are in [0, limit), in one pass."""
    if not indices.numel():
        return True
    low, high = torch.aminmax(indices)
    return bool(low.item() >= 0 and high.item() < limit)


def require_in_range(indices: torch.Tensor, limit: int) -> None:
    """Raises InvalidArgumentError for an index outside [0, limit): torch would wrap it, or abort on a GPU."""
    if indices.device.type == "cpu" and is_in_range(indices, limit):
        return
    bad = (indices < 0) | (indices >= limit)
    if bad.any():
        where = tuple(int(axis[0]) for axis in np.nonzero(bad.cpu().numpy()))
        position = ", ".join(map(str, where))
        raise invalid(f"indices[{position}] = {int(indices[where])} is not in [0, {limit})")


def _present(indices: torch.Tensor, limit: int) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Returns usable indices, and which of them were out of range.

    On the host that is an error. On a device the check would synchronize; as in TensorFlow, a missing row reads as
    zeros, and nothing is added to it. Ops that overwrite rows synchronize nevertheless, and raise.
    """
    if indices.device.type == "cpu":
        require_in_range(indices, limit)
        return indices, None
    return indices.clamp(0, limit - 1), (indices < 0) | (indices >= limit)


def gather(params: torch.Tensor, indices: torch.Tensor, batch_dims: int) -> Any:
    """Returns rows of a buffer, those of each batch from its own part."""
    batch, limit, rest = params.shape[:batch_dims], params.shape[batch_dims], tuple(params.shape[batch_dims + 1 :])
    shape = tuple(indices.shape) + rest
    flat, missing = _present(indices, limit)
    if missing is not None and limit == 0:
        return params.new_zeros(shape)
    if batch_dims:
        count = int(np.prod(batch))
        offsets = torch.arange(count, device=indices.device).reshape(batch + (1,) * (indices.ndim - batch_dims))
        flat, params = flat + offsets * limit, params.reshape((-1, *rest))
    rows = _rows(params, flat.reshape(-1)).reshape(shape)
    if missing is None:
        return rows
    return movable(rows).masked_fill(missing.reshape(indices.shape + (1,) * len(rest)), 0).view(rows.dtype)


def gather_rows(params: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Returns rows of a matrix in host memory, where torch itself detects an index out of range."""
    try:
        return torch.embedding(params, indices)
    except (IndexError, RuntimeError):
        require_in_range(indices, params.shape[0])
        raise


def gather_nd(params: torch.Tensor, indices: torch.Tensor) -> Any:
    flat, rest = _flat_indices(params, indices)
    return _rows(_flattened(params, rest), flat).reshape(tuple(indices.shape[:-1]) + rest)


def _flattened(buffer: torch.Tensor, rest: tuple[int, ...]) -> Any:
    """Returns a buffer with all but its last dimensions flattened."""
    return buffer.reshape((math.prod(buffer.shape[: buffer.ndim - len(rest)]), *rest))


def _rows(params: TensorValue, flat: torch.Tensor) -> Any:
    if isinstance(params, np.ndarray):
        return params[flat.numpy()]
    return torch.index_select(movable(params), 0, flat).view(params.dtype)


def _flat_indices(params: TensorValue, indices: torch.Tensor) -> tuple[torch.Tensor, tuple[int, ...]]:
    """Returns index vectors as row indices of the flattened buffer, and the remaining dimensions."""
    depth = indices.shape[-1]
    flat = torch.zeros(indices.shape[:-1], dtype=torch.int64, device=indices.device)
    for axis in range(depth):
        index = indices[..., axis]
        require_in_range(index, params.shape[axis])
        flat = flat * params.shape[axis] + index
    return flat.reshape(-1), tuple(params.shape[depth:])


def _checked(buffer: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> tuple[torch.Tensor, Any]:
    """Returns validated flat indices, and one row of updates per index."""
    flat, rows = _flat(buffer, indices, updates)
    require_in_range(indices, buffer.shape[0])
    return flat, rows


def _flat(buffer: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> tuple[torch.Tensor, Any]:
    scatter_shapes(tuple(buffer.shape), tuple(indices.shape), tuple(updates.shape))
    flat, row = indices.reshape(-1), tuple(buffer.shape[1:])
    if isinstance(buffer, np.ndarray):
        return flat, np.broadcast_to(updates, tuple(indices.shape) + row).reshape((flat.numel(), *row))
    return flat, updates.expand(tuple(indices.shape) + row).reshape((flat.numel(), *row))


def scatter_update(buffer: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> None:
    flat, rows = _checked(buffer, indices, updates)
    if isinstance(buffer, np.ndarray):
        buffer[flat.numpy()] = rows
    else:
        movable(buffer).index_copy_(0, flat.long(), movable(rows))


def scatter_add(buffer: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> None:
    flat, rows = _added(buffer, indices, updates)
    movable(buffer).index_add_(0, flat, rows)


def scatter_sub(buffer: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> None:
    flat, rows = _added(buffer, indices, updates)
    movable(buffer).index_add_(0, flat, rows.neg())


def _added(buffer: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns flat indices and one row to add per index, zero for an index out of range."""
    if buffer.shape[0] == 0 or indices.device.type == "cpu":
        flat, rows = _checked(buffer, indices, updates)
        return flat, movable(rows)
    flat, rows = _flat(buffer, indices, updates)
    flat, missing = _present(flat, buffer.shape[0])
    assert missing is not None
    return flat, movable(rows).masked_fill(missing.reshape((-1,) + (1,) * (rows.ndim - 1)), 0)


def _by_rounds(of_numbers: _Combine, of_words: _Combine | None = None) -> Callable[..., None]:
    """Returns a scatter that combines old rows with updates; duplicate indices are handled in successive rounds.

    `of_words` combines unsigned 64-bit integers, which are passed as signed ones.
    """

    def scatter(buffer: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> None:
        flat, rows = _checked(buffer, indices, updates)
        wide = torch.int64 if buffer.dtype in _SIGNED else buffer.dtype
        combine = of_words if of_words and buffer.dtype is torch.uint64 else of_numbers
        for positions in _rounds(flat):
            at = flat[positions].long()
            old = movable(buffer).index_select(0, at).view(buffer.dtype)
            new = combine(old.to(wide), movable(rows)[positions].view(rows.dtype).to(wide)).to(buffer.dtype)
            movable(buffer).index_copy_(0, at, movable(new))

    return scatter


def _rounds(flat: torch.Tensor) -> Iterator[torch.Tensor]:
    """Yields positions in groups without duplicate indices, in order of appearance."""
    order = torch.argsort(flat, stable=True)
    ordered = flat[order]
    starts = torch.searchsorted(ordered, ordered)
    turn = torch.empty_like(order)
    turn[order] = torch.arange(flat.numel(), device=flat.device) - starts
    for number in range(int(turn.max()) + 1 if flat.numel() else 0):
        yield (turn == number).nonzero().reshape(-1)


def _divide(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.div(a, b, rounding_mode=None if a.is_floating_point() or a.is_complex() else "trunc")


def _divide_words(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Divides unsigned integers as signed ones: half of a by b, doubled, plus 1 if b still fits the remainder."""
    even = _divide(a >> 1 & ~_TOP_BIT, b) * 2
    more = (a - even * b ^ _TOP_BIT) >= (b ^ _TOP_BIT)
    return torch.where(b < 0, (a ^ _TOP_BIT) >= (b ^ _TOP_BIT), even + more)


def _of_words(choose: _Combine) -> _Combine:
    """Returns min or max for unsigned integers: their order is that of signed ones with the top bit flipped."""
    return lambda a, b: choose(a ^ _TOP_BIT, b ^ _TOP_BIT) ^ _TOP_BIT


SCATTER: dict[str, Callable[..., None]] = {
    "Update": scatter_update,
    "Add": scatter_add,
    "Sub": scatter_sub,
    "Mul": _by_rounds(torch.mul),
    "Div": _by_rounds(_divide, _divide_words),
    "Min": _by_rounds(torch.minimum, _of_words(torch.minimum)),
    "Max": _by_rounds(torch.maximum, _of_words(torch.maximum)),
}


def scatter_nd(buffer: torch.Tensor, change: Callable[..., None], indices: torch.Tensor, updates: torch.Tensor) -> None:
    """Applies an update at slices addressed by index vectors."""
    scatter_nd_shapes(tuple(buffer.shape), tuple(indices.shape), tuple(updates.shape))
    flat, rest = _flat_indices(buffer, indices)
    rows = _flattened(buffer, rest)
    change(rows, flat, updates.reshape((flat.numel(), *rest)))
    if isinstance(buffer, torch.Tensor) and not buffer.is_contiguous():  # rows are a copy with another layout
        buffer.copy_(rows.reshape(buffer.shape))
