"""Many records at a time: a block of a record file is cut into records, whose checksums are verified together.

A record's bytes, followed by what its checksum must be, leave the remainder zero if the first four bytes and the
checksum are inverted. Remainders add up, each moved by its place, so that one checksum over the whole block tells
whether all in it are right. Only when it is not are the records looked at one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from thalweg._src import errors
from thalweg._src.formats.crc32c import crc32c, masked_crc32c

# Bytes that are read at a time, whatever length a damaged file claims. In NumPy, to check fewer would take as long.
BLOCK = 1 << 21
_FRAME = 16  # bytes of a record beside its own
_length_of: Callable[..., tuple[int]] = struct.Struct("<Q").unpack_from
_checksum_of: Callable[..., tuple[int]] = struct.Struct("<I").unpack_from
_FOUR = np.arange(4)
_BYTE, _WORD = np.uint8(0xFF), np.array(0xFFFFFFFF, "<u4")
_MASK_DELTA = np.array(0xA282EAD8, "<u4")
_15, _17 = np.array(15, "<u4"), np.array(17, "<u4")
Array = np.ndarray[Any, Any]


class Source(Protocol):
    """Bytes one after another."""

    def read(self, size: int, /) -> bytes: ...


def _cut(block: Array) -> Sequence[int]:
    """Returns where the records that lie in a block as a whole begin, and where the last of them ends.

    It is a range if all of them have one length.
    """
    size = len(block)
    if size < _FRAME:
        return range(1)
    even = _of_one_length(block)
    places, at, data = [], even[-1], memoryview(block)  # type: ignore[arg-type]
    while at + _FRAME <= size:
        at += _FRAME + _length_of(data, at)[0]
        if at > size:
            break
        places.append(at)
    return [*even, *places] if places else even


def _of_one_length(block: Array) -> range:
    """Returns where records begin, and the last of them ends, as long as each is as long as the first."""
    length = _length_of(block, 0)[0]
    step = _FRAME + length
    most = len(block) // step
    if not most:
        return range(1)
    others = np.flatnonzero(np.ndarray(most, "<u8", block, 0, step) != length)
    return range(0, step * (int(others[0]) if len(others) else most) + 1, step)


def _are_right(block: Array, places: Sequence[int]) -> bool:
    """Returns whether all checksums of the records between the places are right."""
    if isinstance(places, range):
        return _are_even_right(block[: places[-1]], places.step)
    data = block[: places[-1]].copy()
    starts, ends = np.array(places[:-1]), np.array(places[1:])
    checksums = np.concatenate([starts + 8, ends - 4])[:, None] + _FOUR
    data[checksums] = _bare(data[checksums].view("<u4")).view(np.uint8)
    data[np.concatenate([starts, starts + 12])[:, None] + _FOUR] ^= _BYTE
    return crc32c(data, 0xFFFFFFFF) == 0xFFFFFFFF


def _are_even_right(data: Array, step: int) -> bool:
    """Tells it of records of one length; their bytes are changed where they are, and changed back."""
    length, header, first, last = (np.ndarray(len(data) // step, "<u4", data, at, step) for at in (0, 8, 12, step - 4))
    kept = header.copy(), last.copy()
    header[:], last[:] = map(_bare, kept)
    length ^= _WORD
    first ^= _WORD
    right = crc32c(data, 0xFFFFFFFF) == 0xFFFFFFFF
    first ^= _WORD
    length ^= _WORD
    header[:], last[:] = kept
    return right


def _bare(checksums: Array) -> Array:
    """Returns checksums as files keep them as the checksums themselves, inverted."""
    turned = checksums - _MASK_DELTA
    return ~((turned >> _17) | (turned << _15))  # type: ignore[no-any-return]


def _is_wrong(block: Array, at: int, end: int | None) -> bool:
    """Returns whether a checksum of one record is wrong; without an end its header alone is looked at."""
    if _checksum_of(block, at + 8)[0] != masked_crc32c(block[at : at + 8]):
        return True
    return end is not None and _checksum_of(block, end - 4)[0] != masked_crc32c(block[at + 12 : end - 4])


def records_in(source: Source, path: Any, rows: bool = False) -> Iterator[Any]:
    """Yields the records of a file, those of each block together; one that is cut off or damaged ends it.

    They come as a list of bytes; with `rows`, records of one length come as the rows of an array.
    """
    block, before = np.empty(0, np.uint8), 0  # before: bytes of the file in front of the block
    while True:
        more = source.read(BLOCK)
        block = np.concatenate([block, np.frombuffer(more, np.uint8)])
        if not len(block):
            return
        places = _cut(block)
        whole = count = len(places) - 1
        if count and not _are_right(block, places):
            count = next((i for i in range(count) if _is_wrong(block, *places[i : i + 2])), count)
        at = places[count]
        if count and rows and isinstance(places, range):
            yield block[:at].reshape(count, places.step)[:, 12:-4]
        elif count:
            data = block[:at].tobytes()
            yield [data[begin + 12 : end - 4] for begin, end in pairwise(places[: count + 1])]
        block, before = block[at:], before + at
        if count < whole or (len(block) >= 12 and _is_wrong(block, 0, None)):
            raise _lost(path, f"corrupted record at {before}")
        if not more:
            if len(block):
                raise _lost(path, f"truncated record at {before}")
            return
        if len(block) >= 12:
            block = _grown(source, block, _FRAME + _length_of(block, 0)[0] - BLOCK)


def _grown(source: Source, block: Array, size: int) -> Array:
    """Returns a block with what follows, up to a size; a length that is a lie costs no memory."""
    parts, have = [block], len(block)
    while have < size:
        part = source.read(BLOCK)
        if not part:
            break
        parts.append(np.frombuffer(part, np.uint8))
        have += len(part)
    return np.concatenate(parts) if len(parts) > 1 else block


def _lost(path: Any, what: str) -> errors.DataLossError:
    name = path.decode("utf-8", "replace") if isinstance(path, bytes) else str(path)
    return errors.DataLossError(None, None, f"{name}: {what}")
