"""Many records at a time: a block of a record file is cut into records, whose checksums are verified together.

A record's bytes, followed by what its checksum must be, leave the remainder zero if the first four bytes and the
checksum are inverted. Remainders add up, each moved by its place, so that one checksum over the whole block tells
whether all in it are right. Only when it is not are the records looked at one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from thalweg import errors
from thalweg.formats.crc32c import crc32c, masked_crc32c

BLOCK = 1 << 18  # bytes that are read at a time, whatever length a damaged file claims
_FRAME = 16  # bytes of a record beside its own
_length_of = struct.Struct("<Q").unpack_from
_FOUR = np.arange(4)
_BYTE = np.uint8(0xFF)
_MASK_DELTA = np.array(0xA282EAD8, "<u4")
_15, _17 = np.array(15, "<u4"), np.array(17, "<u4")


class Source(Protocol):
    """Bytes one after another."""

    def read(self, size: int, /) -> bytes: ...


def _cut(block: bytes) -> list[int]:
    """Returns where the records that lie in a block as a whole begin, and where the last of them ends."""
    places, at, size = [0], 0, len(block)
    while at + 12 <= size:
        at += _FRAME + _length_of(block, at)[0]
        if at > size:
            break
        places.append(at)
    return places


def _are_right(block: bytes, places: list[int]) -> bool:
    """Tells whether all checksums of the records between the places are right."""
    data = np.frombuffer(block, np.uint8, places[-1]).copy()
    starts, ends = np.array(places[:-1]), np.array(places[1:])
    checksums = np.concatenate([starts + 8, ends - 4])[:, None] + _FOUR
    turned = data[checksums].view("<u4") - _MASK_DELTA
    data[checksums] = (~((turned >> _17) | (turned << _15))).view(np.uint8)  # the bare checksum, inverted
    first = np.concatenate([starts, starts + 12])[:, None] + _FOUR
    data[first] ^= _BYTE
    return crc32c(data, 0xFFFFFFFF) == 0xFFFFFFFF


def _wrong(block: bytes, at: int, end: int | None) -> str | None:
    """Tells what is wrong with one record; without an end its header alone is looked at."""
    if int.from_bytes(block[at + 8 : at + 12], "little") != masked_crc32c(block[at : at + 8]):
        return "corrupted record"
    if end is None or int.from_bytes(block[end - 4 : end], "little") == masked_crc32c(block[at + 12 : end - 4]):
        return None
    return "corrupted record"


def records_in(source: Source, path: Any) -> Iterator[list[bytes]]:
    """Yields the records of a file, those of each block together; one that is cut off or damaged ends it."""
    block, before = b"", 0  # before: bytes of the file in front of the block
    while True:
        more = source.read(BLOCK)
        block += more
        if not block:
            return
        places = _cut(block)
        count = len(places) - 1
        sound = not count or _are_right(block, places)
        if not sound:
            count = next((i for i in range(count) if _wrong(block, *places[i : i + 2])), count)
        if count:
            yield [block[begin + 12 : end - 4] for begin, end in pairwise(places[: count + 1])]
        at = places[count]
        if not sound and count < len(places) - 1:
            raise _lost(path, f"corrupted record at {before + at}")
        block, before = block[at:], before + at
        if len(block) >= 12 and _wrong(block, 0, None):
            raise _lost(path, f"corrupted record at {before}")
        if not more:
            if block:
                raise _lost(path, f"truncated record at {before}")
            return
        if len(block) >= 12:
            block = _grown(source, block, _FRAME + _length_of(block, 0)[0] - BLOCK)


def _grown(source: Source, block: bytes, size: int) -> bytes:
    """Returns a block with what follows, up to a size; a length that is a lie costs no memory."""
    if len(block) >= size:
        return block
    parts, have = [block], len(block)
    while have < size:
        part = source.read(BLOCK)
        if not part:
            break
        parts.append(part)
        have += len(part)
    return b"".join(parts)


def _lost(path: Any, what: str) -> errors.DataLossError:
    name = path.decode("utf-8", "replace") if isinstance(path, bytes) else str(path)
    return errors.DataLossError(None, None, f"{name}: {what}")
