"""CRC-32C, the checksum of record files and checkpoints; long data are taken in many lanes at once.

The checksum is linear over GF(2), so lanes that were summed apart are joined by shifting one past the other.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, bits reversed
_LONG = 1 << 14
Words = np.ndarray[Any, np.dtype[np.uint32]]


@functools.cache
def _table() -> tuple[list[int], Words]:
    """Returns what each byte does to an empty register, as a list and as an array."""
    words = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        words = np.where(words & 1, (words >> 1) ^ np.uint32(_POLYNOMIAL), words >> 1).astype(np.uint32)
    return words.tolist(), words


def crc32c(data: bytes) -> int:
    """Returns the checksum of data."""
    register, start = 0xFFFFFFFF, 0
    if len(data) >= _LONG:
        register, start = _long(data)
    table = _table()[0]
    for byte in data[start:]:
        register = table[(register ^ byte) & 0xFF] ^ (register >> 8)
    return register ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """Returns the checksum as files keep it, turned and shifted so that checksums of checksums stay useful."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _long(data: bytes) -> tuple[int, int]:
    """Returns the register after as many bytes as equal lanes hold, and how many these are."""
    lanes = 4096 if len(data) >= 1 << 20 else 512
    length = len(data) // lanes
    table = _table()[1]
    columns = np.ascontiguousarray(np.frombuffer(data, np.uint8, lanes * length).reshape(lanes, length).T)
    registers = np.zeros(lanes, np.uint32)
    registers[0] = 0xFFFFFFFF
    for column in columns:
        registers = table[(registers & np.uint32(0xFF)) ^ column] ^ (registers >> np.uint32(8))
    shift = _past(length)
    while len(registers) > 1:
        registers = _apply(shift, registers[0::2]) ^ registers[1::2]
        shift = _apply(shift, shift)
    return int(registers[0]), lanes * length


def _apply(matrix: Words, words: Words) -> Words:
    """Multiplies words, as vectors of bits, by a matrix whose rows are what becomes of each bit."""
    result = np.zeros_like(words)
    for bit, row in enumerate(matrix):
        result ^= np.where((words >> np.uint32(bit)) & np.uint32(1), row, np.uint32(0))
    return result


def _past(length: int) -> Words:
    """Returns the matrix that moves a register past so many bytes of zero."""
    table = _table()[1]
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    step = table[bits & np.uint32(0xFF)] ^ (bits >> np.uint32(8))
    result = bits
    while length:
        if length & 1:
            result = _apply(step, result)
        step = _apply(step, step)
        length >>= 1
    return result
