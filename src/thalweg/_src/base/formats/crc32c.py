"""CRC-32C checksum of record files and checkpoints: by google-crc32c where it is installed, else by NumPy.

NumPy reaches a few gigabytes per second by XOR of whole blocks. A checksum is the remainder of a polynomial over GF(2).
Its divisor also divides x^6777 + x^484 + x^100 + 1, hence also these powers times 8 or 64: a word of the message may be
moved to three later positions without changing the remainder. So the message is folded by a recurrence, thousands of
words at a time, until the few remaining words are divided.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

_POLYNOMIAL = 0x82F63B78  # Castagnoli polynomial, bit-reversed
_LONGEST, *_STEPS = 6777, 6777 - 484, 6777 - 100  # distances, in words, by which a word is moved
_TINY = 48
_PIECE = 1 << 24
_BLOCKS = 16
_WIDE = 8
Array = np.ndarray[Any, Any]
Words = np.ndarray[Any, np.dtype[np.uint32]]


def _native_extend() -> Callable[[int, Any], int] | None:
    """Returns google-crc32c's `extend`, if the package is installed with its C implementation."""
    try:
        library = importlib.import_module("google_crc32c")
    except ImportError:
        return None
    return library.extend if library.implementation == "c" else None


_extend = _native_extend()


@functools.cache
def _table() -> list[int]:
    """Returns the CRC of each byte value, for an empty register."""
    words = list(range(256))
    for _ in range(8):
        words = [(word >> 1) ^ (_POLYNOMIAL if word & 1 else 0) for word in words]
    return words


@functools.cache
def _remainders() -> Words:
    """Returns the remainder of each bit of the longest message that is divided at once, the last bit last."""
    remainders = [_POLYNOMIAL]
    for _ in range(8 * _LONGEST - 1):
        word = remainders[-1]
        remainders.append((word >> 1) ^ (_POLYNOMIAL if word & 1 else 0))
    return np.array(remainders[::-1], np.uint32)


def crc32c(data: Any, start: int = 0) -> int:
    """Returns the checksum of a bytes-like object; start is the checksum of the preceding data."""
    view = memoryview(data).cast("B") if not isinstance(data, bytes) else data
    if _extend is not None:
        return _extend(start, view) if isinstance(view, bytes) else _in_pieces(np.frombuffer(view, np.uint8), start)
    register = start ^ 0xFFFFFFFF
    if len(view) > _TINY:
        whole = len(view) & ~7
        register = _long(np.frombuffer(view, np.uint8, whole), register)
        view = view[whole:]
    table = _table()
    for byte in view:
        register = table[(register ^ byte) & 0xFF] ^ (register >> 8)
    return register ^ 0xFFFFFFFF


def _in_pieces(data: Array, crc: int) -> int:
    """Returns the checksum by native code in pieces, since it holds the GIL during a call."""
    assert _extend is not None
    for begin in range(0, len(data), _PIECE):
        crc = _extend(crc, data[begin : begin + _PIECE])
    return crc


def masked_crc32c(data: Any) -> int:
    """Returns the masked checksum of files, rotated and shifted so that checksums of checksums stay effective."""
    return mask(crc32c(data))


def mask(crc: int) -> int:
    """Returns the masked form of a checksum, as stored in files."""
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def unmask(masked: int) -> int:
    """Returns the checksum of a masked form."""
    rotated = (masked - 0xA282EAD8) & 0xFFFFFFFF
    return ((rotated >> 17) | (rotated << 15)) & 0xFFFFFFFF


def combine(first: int, second: int, length: int) -> int:
    """Returns the checksum of the concatenation of two pieces, of which the second has `length` bytes."""
    return _multiply(first, _power(length)) ^ second


@functools.lru_cache(64)
def _power(length: int) -> int:
    """Returns the remainder of x^(8 * length), by squaring."""
    result, square = 1 << 31, 1 << 23  # the polynomials 1 and x^8, bit-reversed
    while length:
        if length & 1:
            result = _multiply(result, square)
        square = _multiply(square, square)
        length >>= 1
    return result


def _multiply(a: int, b: int) -> int:
    """Multiplies two polynomials modulo the divisor."""
    result = 0
    for _ in range(32):
        if a & 1 << 31:
            result ^= b
        a = a << 1 & 0xFFFFFFFF
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
    return result


def _long(data: Array, register: int) -> int:
    """Returns the register after processing data, a multiple of 8 bytes."""
    words = data.view("<u8")
    # Wide blocks release the GIL for longer; narrow ones fit the cache and leave a shorter remainder to divide.
    if len(words) > 4 * _WIDE * _LONGEST:
        words, register = _folded(words, register, _WIDE), 0
    words = _folded(words, register, 1) if len(words) > _LONGEST else words ^ _first(words, register)
    data = words.view(np.uint8)
    if len(data) > _LONGEST:
        data = _folded(data, 0, 1)
    bits = np.unpackbits(data, bitorder="little")
    return int(np.bitwise_xor.reduce(np.negative(bits.astype(np.uint32)) & _remainders()[-len(bits) :]))


def _first(words: Array, value: int) -> Array:
    """Returns zeros except for one value at the front."""
    result = np.zeros_like(words)
    result[0] = value
    return result


def _folded(data: Array, register: int, width: int) -> Array:
    """Folds data and the initial register into at most as many words as the recurrence spans.

    The recurrence advances by `width` words at once.
    """
    longest, steps = width * _LONGEST, [width * step for step in _STEPS]
    count, block = len(data) - longest, steps[0]
    moved: Array = np.empty(longest + max(_BLOCKS // width, 1) * block, data.dtype)  # the folded words
    moved[:longest] = 0
    end = longest
    for begin in range(0, count, block):
        if end + block > len(moved):
            moved[:longest] = moved[end - longest : end]
            end = longest
        words = data[begin : min(begin + block, count)]
        here = moved[end : end + len(words)]
        np.bitwise_xor(words, moved[end - longest : end - longest + len(words)], out=here)
        for step in steps:
            np.bitwise_xor(here, moved[end - step : end - step + len(words)], out=here)
        if begin == 0:
            here[0] ^= data.dtype.type(register)
        end += len(words)
    rest = data[count:].copy()
    for step in (*steps, longest):
        rest[:step] ^= moved[end - step : end]
    return rest
