"""Hash functions of byte strings (FarmHash, MurmurHash, SipHash), of one string or vectorized over many of one length.

Each is written for 64-bit integers that are Python ints or NumPy arrays: strings are grouped by length, and large
groups are hashed as arrays. Python ints do not wrap around, hence the masks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Number = Any  # an int below 2**64, or an array of them
Array = np.ndarray[Any, Any]

_MASK = 0xFFFFFFFFFFFFFFFF
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_MURMUR, _MURMUR_SEED = 0xC6A4A7935BD1E995, 0xDECAFCAFFE
_MIN_VECTORIZED = 12  # strings of one length; below, arrays cost more than they save


class _Text:
    """One string, read as integers."""

    def __init__(self, string: bytes) -> None:
        self._string = string
        self.size = len(string)

    def word(self, start: int, size: int = 8) -> Number:
        return int.from_bytes(self._string[start : start + size], "little")


class _Texts:
    """Many strings of one length, read as arrays of integers."""

    def __init__(self, strings: list[bytes], size: int) -> None:
        self._bytes = np.frombuffer(b"".join(strings), np.uint8).reshape(len(strings), size)
        self.size = size

    def word(self, start: int, size: int = 8) -> Number:
        padded = np.zeros((len(self._bytes), 8), np.uint8)
        padded[:, :size] = self._bytes[:, start : start + size]
        return padded.view("<u8")[:, 0]


Text = _Text | _Texts
Hash = Callable[[Text], Number]


def hash_all(function: Hash, strings: list[bytes]) -> Array:
    """Returns the hashes of strings."""
    result = np.empty(len(strings), np.uint64)
    groups: dict[int, list[int]] = {}
    for index, string in enumerate(strings):
        groups.setdefault(len(string), []).append(index)
    for size, members in groups.items():
        if len(members) < _MIN_VECTORIZED:
            for index in members:
                result[index] = function(_Text(strings[index]))
        else:
            result[members] = function(_Texts([strings[index] for index in members], size))
    return result


# FarmHash Fingerprint64.


def _rotate(value: Number, shift: int) -> Number:
    """Rotates to the right."""
    return ((value >> shift) | (value << (64 - shift))) & _MASK


def _mix(value: Number) -> Number:
    return value ^ (value >> 47)


def _combine(u: Number, v: Number, factor: Number) -> Number:
    a = _mix(((u ^ v) * factor) & _MASK)
    return (_mix(((v ^ a) * factor) & _MASK) * factor) & _MASK


def farmhash64(text: Text) -> Number:
    """Returns FarmHash's 64-bit fingerprint."""
    if text.size <= 16:
        return _farm_to_16(text)
    if text.size <= 32:
        return _farm_to_32(text)
    return _farm_to_64(text) if text.size <= 64 else _farm_long(text)


def _farm_to_16(text: Text) -> Number:
    size = text.size
    factor = (_K2 + size * 2) & _MASK
    if size >= 8:
        a, b = (text.word(0) + _K2) & _MASK, text.word(size - 8)
        c = (_rotate(b, 37) * factor + a) & _MASK
        d = ((_rotate(a, 25) + b) * factor) & _MASK
        return _combine(c, d, factor)
    if size >= 4:
        return _combine((size + (text.word(0, 4) << 3)) & _MASK, text.word(size - 4, 4), factor)
    if size > 0:
        y = text.word(0, 1) + (text.word(size >> 1, 1) << 8)
        z = size + (text.word(size - 1, 1) << 2)
        return (_mix(((y * _K2) & _MASK) ^ ((z * _K0) & _MASK)) * _K2) & _MASK
    return _K2


def _farm_to_32(text: Text) -> Number:
    size = text.size
    factor = (_K2 + size * 2) & _MASK
    a, b = (text.word(0) * _K1) & _MASK, text.word(8)
    c, d = (text.word(size - 8) * factor) & _MASK, (text.word(size - 16) * _K2) & _MASK
    first = (_rotate((a + b) & _MASK, 43) + _rotate(c, 30) + d) & _MASK
    return _combine(first, (a + _rotate((b + _K2) & _MASK, 18) + c) & _MASK, factor)


def _farm_to_64(text: Text) -> Number:
    size = text.size
    factor = (_K2 + size * 2) & _MASK
    a, b = (text.word(0) * _K2) & _MASK, text.word(8)
    c, d = (text.word(size - 8) * factor) & _MASK, (text.word(size - 16) * _K2) & _MASK
    y = (_rotate((a + b) & _MASK, 43) + _rotate(c, 30) + d) & _MASK
    z = _combine(y, (a + _rotate((b + _K2) & _MASK, 18) + c) & _MASK, factor)
    e, f = (text.word(16) * factor) & _MASK, text.word(24)
    g = ((y + text.word(size - 32)) * factor) & _MASK
    h = ((z + text.word(size - 24)) * factor) & _MASK
    first = (_rotate((e + f) & _MASK, 43) + _rotate(g, 30) + h) & _MASK
    return _combine(first, (e + _rotate((f + a) & _MASK, 18) + g) & _MASK, factor)


Pair = tuple[Number, Number]


def _weak(text: Text, start: int, a: Number, b: Number) -> Pair:
    """Mixes 32 bytes into a pair of integers."""
    last = text.word(start + 24)
    a = (a + text.word(start)) & _MASK
    b = _rotate((b + a + last) & _MASK, 21)
    c = a
    a = (a + text.word(start + 8) + text.word(start + 16)) & _MASK
    b = (b + _rotate(a, 44)) & _MASK
    return (a + last) & _MASK, (b + c) & _MASK


def _farm_long(text: Text) -> Number:
    size = text.size
    x = (((81 * _K2) & _MASK) + text.word(0)) & _MASK
    y = (81 * _K1 + 113) & _MASK
    z: Number = (_mix((y * _K2 + 113) & _MASK) * _K2) & _MASK
    v: Pair = (0, 0)
    w: Pair = (0, 0)
    for start in range(0, (size - 1) // 64 * 64, 64):
        x, y, z, v, w = _farm_block(text, start, (x, y, z, v, w), _K1, 1)
    factor = (_K1 + ((z & 0xFF) << 1)) & _MASK
    w = ((w[0] + ((size - 1) & 63)) & _MASK, w[1])
    v = ((v[0] + w[0]) & _MASK, v[1])
    w = ((w[0] + v[0]) & _MASK, w[1])
    x, y, z, v, w = _farm_block(text, size - 64, (x, y, z, v, w), factor, 9)
    first = (_combine(v[0], w[0], factor) + _mix(y) * _K0 + z) & _MASK
    return _combine(first, (_combine(v[1], w[1], factor) + x) & _MASK, factor)


State = tuple[Number, Number, Number, Pair, Pair]


def _farm_block(text: Text, start: int, state: State, factor: Number, weight: int) -> State:
    x, y, z, v, w = state
    x = (_rotate((x + y + v[0] + text.word(start + 8)) & _MASK, 37) * factor) & _MASK
    y = (_rotate((y + v[1] + text.word(start + 48)) & _MASK, 42) * factor) & _MASK
    x = x ^ ((w[1] * weight) & _MASK)
    y = (y + v[0] * weight + text.word(start + 40)) & _MASK
    z = (_rotate((z + w[0]) & _MASK, 33) * factor) & _MASK
    v = _weak(text, start, (v[1] * factor) & _MASK, (x + w[0]) & _MASK)
    w = _weak(text, start + 32, (z + w[1]) & _MASK, (y + text.word(start + 16)) & _MASK)
    return z, y, x, v, w


# MurmurHash64A with TensorFlow's seed.


def murmur64(text: Text) -> Number:
    """Returns the hash that `tf.string_to_hash_bucket` uses."""
    whole = text.size // 8 * 8
    h: Number = _MURMUR_SEED ^ ((text.size * _MURMUR) & _MASK)
    for start in range(0, whole, 8):
        k = (text.word(start) * _MURMUR) & _MASK
        h = ((h ^ (((k ^ (k >> 47)) * _MURMUR) & _MASK)) * _MURMUR) & _MASK
    if text.size > whole:
        h = ((h ^ text.word(whole, text.size - whole)) * _MURMUR) & _MASK
    return _mix((_mix(h) * _MURMUR) & _MASK)


# SipHash-2-4: two rounds per eight bytes, four at the end.


def siphash(key: tuple[int, int]) -> Hash:
    """Returns the hash function with a key."""
    k0, k1 = (number & _MASK for number in key)

    def hash(text: Text) -> Number:
        state: Any = (
            k0 ^ 0x736F6D6570736575,
            k1 ^ 0x646F72616E646F6D,
            k0 ^ 0x6C7967656E657261,
            k1 ^ 0x7465646279746573,
        )
        whole = text.size // 8 * 8
        words = [text.word(start) for start in range(0, whole, 8)]
        rest = text.word(whole, text.size - whole) if text.size > whole else 0
        for word in [*words, rest | ((text.size & 0xFF) << 56)]:
            v0, v1, v2, v3 = state
            v0, v1, v2, v3 = _sip_round(*_sip_round(v0, v1, v2, v3 ^ word))
            state = (v0 ^ word, v1, v2, v3)
        v0, v1, v2, v3 = state
        state = (v0, v1, v2 ^ 0xFF, v3)
        for _ in range(4):
            state = _sip_round(*state)
        return state[0] ^ state[1] ^ state[2] ^ state[3]

    return hash


def _sip_round(v0: Number, v1: Number, v2: Number, v3: Number) -> tuple[Number, Number, Number, Number]:
    v0, v2 = (v0 + v1) & _MASK, (v2 + v3) & _MASK
    v1, v3 = _rotate(v1, 51) ^ v0, _rotate(v3, 48) ^ v2
    v0, v2 = (_rotate(v0, 32) + v3) & _MASK, (v2 + v1) & _MASK
    v1, v3 = _rotate(v1, 47) ^ v2, _rotate(v3, 43) ^ v0
    return v0, v1, _rotate(v2, 32), v3
