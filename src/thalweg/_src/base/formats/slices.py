"""Tensor slices in checkpoints: `"10 4 0,3:-"` is the first three rows of a tensor of shape [10, 4].

In the index of a checkpoint a slice has its own key, in an order-preserving encoding of its name and integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FULL = -1  # the length of an axis that is not sliced
Extent = tuple[int, int]  # start and length
_MOST_DIMENSIONS = 254


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a tensor: its start and length on each axis."""

    extents: tuple[Extent, ...]

    def within(self, shape: Sequence[int]) -> tuple[Extent, ...]:
        """Returns the extents with the lengths of whole axes filled in; raises ValueError if they are out of bounds."""
        if len(self.extents) != len(shape):
            raise ValueError(f"the slice {self} has {len(self.extents)} axes, its tensor has {len(shape)}")
        result = tuple((s, size if n == FULL else n) for (s, n), size in zip(self.extents, shape))
        if any(s < 0 or n < 0 or s + n > size for (s, n), size in zip(result, shape)):
            raise ValueError(f"the slice {self} exceeds its tensor of shape {list(shape)}")
        return result

    def is_whole(self, shape: Sequence[int]) -> bool:
        return self.within(shape) == tuple((0, size) for size in shape)

    def key(self, name: bytes) -> bytes:
        """Returns the key of this slice of a tensor in the index of a checkpoint."""
        escaped = b"".join(_ESCAPED.get(byte) or bytes([byte]) for byte in name)
        numbers = b"".join(_signed(number) for extent in self.extents for number in extent)
        return b"\x00" + escaped + b"\x00\x01" + _unsigned(len(self.extents)) + numbers

    def __str__(self) -> str:
        return ":".join("-" if n == FULL else f"{s},{n}" for s, n in self.extents)


_ESCAPED = {0x00: b"\x00\xff", 0xFF: b"\xff\x00"}


def parse(text: str) -> tuple[tuple[int, ...], Slice]:
    """Parses the shape of the whole tensor and the slice from text; raises ValueError if it is malformed."""
    *sizes, extents = text.split(" ")
    try:
        shape = tuple(map(int, sizes))
        slice_ = Slice(tuple(map(_extent, extents.split(":"))) if extents else ())
    except ValueError:
        raise ValueError(f"cannot parse the slice {text!r}: expected sizes and then extents, as '10 4 0,3:-'") from None
    if any(size < 0 for size in shape) or len(shape) > _MOST_DIMENSIONS:
        raise ValueError(f"the slice {text!r} belongs to an invalid tensor shape")
    slice_.within(shape)
    return shape, slice_


def _extent(text: str) -> Extent:
    if text == "-":
        return 0, FULL
    start, length = map(int, text.split(","))
    if start < 0 or length <= 0:
        raise ValueError(text)
    return start, length


def _unsigned(number: int) -> bytes:
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([len(data)]) + data


def _signed(number: int) -> bytes:
    """Encodes a signed 64-bit integer so that the bytes sort like the values, with the length in the leading bits."""
    bits = (~number if number < 0 else number).bit_length()
    length = bits // 7 + 1
    header = ((1 << length) - 1) << (7 * length)
    return (number & ((1 << (8 * length)) - 1) ^ header).to_bytes(length, "big")


def overlap(a: Sequence[Extent], b: Sequence[Extent]) -> tuple[Extent, ...] | None:
    """Returns the intersection of two slices, None if it is empty."""
    common = tuple((max(s, t), min(s + n, t + m) - max(s, t)) for (s, n), (t, m) in zip(a, b))
    return common if all(n > 0 for _, n in common) else None


def are_disjoint(slices: Sequence[Sequence[Extent]]) -> bool:
    """Returns whether no two slices of a tensor intersect."""
    if len(slices) < 2 or not slices[0]:
        return len(slices) < 2
    starts = np.array([[s for s, _ in extents] for extents in slices])
    ends = starts + np.array([[n for _, n in extents] for extents in slices])
    for i in range(len(slices) - 1):
        later, sooner = np.maximum(starts[i], starts[i + 1 :]), np.minimum(ends[i], ends[i + 1 :])
        if (later < sooner).all(axis=1).any():
            return False
    return True
