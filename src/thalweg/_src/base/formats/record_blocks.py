"""Batched reading of record files: splits a block into records and verifies their checksums together.

A record's bytes followed by their correct checksum have remainder zero if the first four bytes and the checksum are
inverted. Remainders are additive, so that one checksum over the whole block verifies all of its records. Only when it
fails are the records checked one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from thalweg._src.base import errors
from thalweg._src.base.formats.crc32c import crc32c, masked_crc32c
from thalweg._src.base.formats.text import AnyPath

# Bytes read at a time, whatever length a damaged file claims. In NumPy, checking fewer would take as long.
BLOCK = 1 << 21
_FRAME = 16  # bytes of a record's header and footer
_length_of: Callable[..., tuple[int]] = struct.Struct("<Q").unpack_from
_checksum_of: Callable[..., tuple[int]] = struct.Struct("<I").unpack_from
_FOUR = np.arange(4)
_BYTE, _WORD = np.uint8(0xFF), np.array(0xFFFFFFFF, "<u4")
_MASK_DELTA = np.array(0xA282EAD8, "<u4")
_15, _17 = np.array(15, "<u4"), np.array(17, "<u4")
Array = np.ndarray[Any, Any]


class Source(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes: ...


def _record_offsets(block: Array) -> Sequence[int]:
    """Returns the offsets of the complete records in a block, and the end of the last of them.

    The result is a range if all of them have the same length.
    """
    size = len(block)
    if size < _FRAME:
        return range(1)
    even = _equal_length_offsets(block)
    offsets, at, data = [], even[-1], memoryview(block)  # type: ignore[arg-type]
    while at + _FRAME <= size:
        at += _FRAME + _length_of(data, at)[0]
        if at > size:
            break
        offsets.append(at)
    return [*even, *offsets] if offsets else even


def _equal_length_offsets(block: Array) -> range:
    """Returns the offsets of the leading records with the length of the first, and the end of the last of them."""
    length = _length_of(block, 0)[0]
    step = _FRAME + length
    most = len(block) // step
    if not most:
        return range(1)
    others = np.flatnonzero(np.ndarray(most, "<u8", block, 0, step) != length)
    return range(0, step * (int(others[0]) if len(others) else most) + 1, step)


def _are_valid(block: Array, offsets: Sequence[int]) -> bool:
    """Returns whether all checksums of the records at the offsets are correct."""
    if isinstance(offsets, range):
        return _are_equal_length_valid(block[: offsets[-1]], offsets.step)
    data = block[: offsets[-1]].copy()
    starts, ends = np.array(offsets[:-1]), np.array(offsets[1:])
    checksums = np.concatenate([starts + 8, ends - 4])[:, None] + _FOUR
    data[checksums] = _unmasked_inverse(data[checksums].view("<u4")).view(np.uint8)
    data[np.concatenate([starts, starts + 12])[:, None] + _FOUR] ^= _BYTE
    return crc32c(data, 0xFFFFFFFF) == 0xFFFFFFFF


def _are_equal_length_valid(data: Array, step: int) -> bool:
    """Verifies records of one length, whose bytes are modified in place and restored."""
    length, header, first, last = (np.ndarray(len(data) // step, "<u4", data, at, step) for at in (0, 8, 12, step - 4))
    checksums = header.copy(), last.copy()
    header[:], last[:] = map(_unmasked_inverse, checksums)
    length ^= _WORD
    first ^= _WORD
    right = crc32c(data, 0xFFFFFFFF) == 0xFFFFFFFF
    first ^= _WORD
    length ^= _WORD
    header[:], last[:] = checksums
    return right


def _unmasked_inverse(checksums: Array) -> Array:
    """Returns the inverse of masked checksums, unmasked."""
    rotated = checksums - _MASK_DELTA
    return ~((rotated >> _17) | (rotated << _15))  # type: ignore[no-any-return]


def _is_corrupted(block: Array, at: int, end: int | None) -> bool:
    """Returns whether a checksum of one record is wrong; without an end only its header is checked."""
    if _checksum_of(block, at + 8)[0] != masked_crc32c(block[at : at + 8]):
        return True
    return end is not None and _checksum_of(block, end - 4)[0] != masked_crc32c(block[at + 12 : end - 4])


def records_in(source: Source, path: AnyPath, rows: bool = False) -> Iterator[Any]:
    """Yields the records of a file, one batch per block; a truncated or damaged record raises DataLossError.

    A batch is a list of bytes; with `rows`, records of one length are the rows of an array.
    """
    block, before = np.empty(0, np.uint8), 0  # before: offset of the block in the file
    while True:
        more = source.read(BLOCK)
        block = np.concatenate([block, np.frombuffer(more, np.uint8)])
        if not len(block):
            return
        offsets = _record_offsets(block)
        whole = count = len(offsets) - 1
        if count and not _are_valid(block, offsets):
            count = next((i for i in range(count) if _is_corrupted(block, *offsets[i : i + 2])), count)
        at = offsets[count]
        if count and rows and isinstance(offsets, range):
            yield block[:at].reshape(count, offsets.step)[:, 12:-4]
        elif count:
            data = block[:at].tobytes()
            yield [data[begin + 12 : end - 4] for begin, end in pairwise(offsets[: count + 1])]
        block, before = block[at:], before + at
        if count < whole or (len(block) >= 12 and _is_corrupted(block, 0, None)):
            raise _lost(path, f"corrupted record at {before}")
        if not more:
            if len(block):
                raise _lost(path, f"truncated record at {before}")
            return
        if len(block) >= 12:
            block = _grown(source, block, _FRAME + _length_of(block, 0)[0] - BLOCK)


def require_proportion(source: Source, size: int) -> None:
    """Raises DataLossError if a record has so many bytes, and its compressed file had far less up to here."""
    check = getattr(source, "require_proportion", None)
    if check is not None:
        check(size)


def _grown(source: Source, block: Array, size: int) -> Array:
    """Extends a block by the following bytes, up to a size; a wrong length allocates no memory."""
    pieces, have = [block], len(block)
    while have < size:
        piece = source.read(BLOCK)
        if not piece:
            break
        pieces.append(np.frombuffer(piece, np.uint8))
        have += len(piece)
        require_proportion(source, have)
    return np.concatenate(pieces) if len(pieces) > 1 else block


def _lost(path: AnyPath, what: str) -> errors.DataLossError:
    name = path.decode("utf-8", "replace") if isinstance(path, bytes) else str(path)
    return errors.DataLossError(None, None, f"{name}: {what}")
