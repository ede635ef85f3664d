"""SSTable: sorted keys with their values in one immutable file, the format of a checkpoint's index.

A table is a sequence of blocks, an index of them and a footer. Each block has a checksum. Keys are prefix-compressed:
an entry stores the length of the prefix shared with the previous key and the remainder, with a whole key (restart
point) at every sixteenth entry.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from thalweg._src.base import errors
from thalweg._src.base.formats.crc32c import masked_crc32c

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48  # two handles of 20 bytes at most, then the magic number
_TRAILER = struct.Struct("<BI")  # compression, checksum
_BLOCK = 1 << 18
_RESTART = 16
_EXPANSION = 64  # largest accepted ratio of keys and decompressed blocks to the file size; more is an attack
_SMALLEST = 1 << 20


class Damaged(Exception):
    """Raised when bytes are not a table, or a damaged one."""


# -- numbers ----------------------------------------------------------------------------------------------------------


def varint(number: int) -> bytes:
    """Encodes an integer as a varint: groups of seven bits, the lowest first."""
    result = bytearray()
    while number > 0x7F:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    result.append(number)
    return bytes(result)


def read_varint(data: bytes | memoryview, position: int, end: int) -> tuple[int, int]:
    """Decodes a varint of at most 64 bits; returns it and the position after it."""
    number = shift = 0
    while position < end and shift < 64:
        byte = data[position]
        number |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return number, position
    raise Damaged("a varint is truncated")


# -- writing ----------------------------------------------------------------------------------------------------------


def table(entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Returns a file that holds the entries, whose keys must be in ascending order."""
    file = bytearray()
    index, block = _Block(1), _Block(_RESTART)
    full: bytes | None = None  # the handle of the last block, which needs the next key for its separator
    for key, value in entries:
        if block.last is not None and key <= block.last:
            raise ValueError(f"keys are not in ascending order: {key!r} follows {block.last!r}")
        if full is not None:
            index.add(_separator(block.last or b"", key), full)
            block, full = _Block(_RESTART), None
        block.add(key, value)
        if block.size >= _BLOCK:
            full = _append(file, block.finish())
    if full is None and block.last is not None:
        full = _append(file, block.finish())
    if full is not None:
        index.add(_successor(block.last or b""), full)
    footer = _append(file, _Block(_RESTART).finish()) + _append(file, index.finish())
    return bytes(file) + footer.ljust(_FOOTER - 8, b"\0") + struct.pack("<Q", _MAGIC)


class _Block:
    """A block under construction: entries, then the restart points, whose keys are stored whole."""

    def __init__(self, restart: int) -> None:
        self._restart = restart
        self._data = bytearray()
        self._restarts = [0]
        self._count = 0
        self.last: bytes | None = None

    @property
    def size(self) -> int:
        return len(self._data) + 4 * len(self._restarts) + 4

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self.last is not None:
            if self._count % self._restart:
                shared = _shared_prefix(self.last, key)
            else:
                self._restarts.append(len(self._data))
        self._data += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        self._count += 1
        self.last = key

    def finish(self) -> bytes:
        count = len(self._restarts)
        return bytes(self._data) + struct.pack(f"<{count + 1}I", *self._restarts, count)


def _append(file: bytearray, block: bytes) -> bytes:
    """Appends a block to the file and returns its handle."""
    handle = varint(len(file)) + varint(len(block))
    file += block
    file += _TRAILER.pack(0, masked_crc32c(block + b"\0"))
    return handle


def _separator(last: bytes, following: bytes) -> bytes:
    """Returns a short key that is not less than `last` and less than the following key."""
    at = _shared_prefix(last, following)
    if at < min(len(last), len(following)) and last[at] + 1 < following[at]:
        return last[:at] + bytes([last[at] + 1])
    return last


def _successor(last: bytes) -> bytes:
    """Returns a short key that is not less than `last`."""
    at = next((i for i, byte in enumerate(last) if byte != 0xFF), None)
    return last if at is None else last[:at] + bytes([last[at] + 1])


def _shared_prefix(a: bytes, b: bytes) -> int:
    """Returns the length of the common prefix of two keys."""
    length = min(len(a), len(b))
    return next((i for i in range(length) if a[i] != b[i]), length)


# -- reading ----------------------------------------------------------------------------------------------------------


def read_table(data: bytes, name: str) -> dict[bytes, bytes]:
    """Returns the entries of a table; raises DataLossError, which names the file, if it is invalid."""
    try:
        return dict(_entries(data))
    except Damaged as error:
        raise errors.DataLossError(None, None, f"{name}: the table is damaged: {error}") from None


def _entries(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(data) < _FOOTER:
        raise Damaged(f"the file has {len(data)} bytes, a footer alone has {_FOOTER}")
    if struct.unpack_from("<Q", data, len(data) - 8)[0] != _MAGIC:
        raise Damaged("the magic number at its end is missing")
    start, end = len(data) - _FOOTER, len(data) - 8
    _, _, position = _handle(data, start, end)
    offset, size, _ = _handle(data, position, end)
    budget = [len(data) * _EXPANSION + _SMALLEST]
    last: bytes | None = None
    for _, value in _block_entries(_content(data, offset, size), budget):
        offset, size, _ = _handle(value, 0, len(value))
        for key, entry in _block_entries(_content(data, offset, size), budget):
            if last is not None and key <= last:
                raise Damaged("keys are out of order")
            last = key
            yield key, entry


def _handle(data: bytes, position: int, end: int) -> tuple[int, int, int]:
    """Returns offset and size of a block, and the position after them."""
    offset, position = read_varint(data, position, end)
    size, position = read_varint(data, position, end)
    return offset, size, position


def _content(data: bytes, offset: int, size: int) -> bytes:
    """Returns a block after verifying its checksum."""
    end = offset + size
    if end + _TRAILER.size > len(data):
        raise Damaged(f"a block of {size} bytes at {offset} extends past the end")
    compression, checksum = _TRAILER.unpack_from(data, end)
    if masked_crc32c(data[offset : end + 1]) != checksum:
        raise Damaged(f"the checksum of the block at {offset} is wrong")
    if compression == 0:
        return data[offset:end]
    if compression == 1:
        return _snappy_decompress(data[offset:end])
    raise Damaged(f"the block at {offset} has the unknown compression {compression}")


def _block_entries(block: bytes, budget: list[int]) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise Damaged("a block is too short")
    end = len(block) - 4 - 4 * struct.unpack_from("<I", block, len(block) - 4)[0]
    if end < 0:
        raise Damaged("a block has too many restart points")
    position, key = 0, b""
    while position < end:
        shared, position = read_varint(block, position, end)
        added, position = read_varint(block, position, end)
        size, position = read_varint(block, position, end)
        if shared > len(key) or position + added + size > end:
            raise Damaged("an entry extends past its block")
        key = key[:shared] + block[position : position + added]
        position += added
        budget[0] -= len(key) + size
        if budget[0] < 0:
            raise Damaged("its keys expand beyond the limit")
        yield key, block[position : position + size]
        position += size


def _snappy_decompress(data: bytes) -> bytes:
    """Decompresses snappy data: runs of literal bytes, and copies of earlier output."""
    length, position = read_varint(data, 0, len(data))
    if length > len(data) * _EXPANSION:
        raise Damaged("a compressed block declares too large a size")
    result = bytearray()
    while position < len(data):
        tag, position = data[position], position + 1
        tag_type, size = tag & 3, (tag >> 2) + 1
        extra = max(size - 60, 0) if tag_type == 0 else (0, 1, 2, 4)[tag_type]
        number = int.from_bytes(data[position : position + extra], "little")
        position += extra
        if tag_type == 0:
            size = number + 1 if extra else size
            result += data[position : position + size]
            position += size
            continue
        if tag_type == 1:
            size, number = (tag >> 2 & 7) + 4, number | (tag >> 5) << 8
        if not 0 < number <= len(result) or len(result) + size > length:
            raise Damaged("a compressed block copies from an invalid offset")
        pattern = bytes(result[-number:])
        result += (pattern * (size // number + 1))[:size]
    if len(result) != length or position != len(data):
        raise Damaged("a compressed block does not have the declared length")
    return bytes(result)
