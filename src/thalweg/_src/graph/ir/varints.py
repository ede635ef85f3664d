"""Varints (LEB128): nonnegative integers of up to 64 bits in as few bytes as they need, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_MAX_LENGTH = 10  # bytes of an integer of 64 bits


def encode_varints(numbers: Sequence[int]) -> bytes:
    """Returns integers as bytes: seven bits per byte, the least significant first, the last byte below 128."""
    values = np.array(numbers, np.uint64)
    # Vectorized over all integers: first the length of each, then one pass per byte position over those that are as
    # long.
    lengths = np.ones(len(values), np.int64)
    for length in range(1, _MAX_LENGTH):
        lengths += values >= np.uint64(1 << 7 * length)
    starts = np.cumsum(lengths) - lengths
    result = np.empty(int(lengths.sum()), np.uint8)
    for place in range(int(lengths.max(initial=0))):
        chosen = lengths > place
        bits = (values[chosen] >> np.uint64(7 * place)).astype(np.uint8) & 0x7F
        result[starts[chosen] + place] = bits | ((lengths[chosen] > place + 1) * np.uint8(0x80))
    return result.tobytes()


def decode_varints(data: Any) -> list[int]:
    """Returns the integers that bytes hold; raises ValueError if the last one is cut short or one is too long."""
    octets = np.frombuffer(data, np.uint8)
    # The last byte of an integer is the one below 128, so that the boundaries of all integers are found at once.
    ends = np.flatnonzero(octets < 0x80)
    if len(octets) and (not len(ends) or ends[-1] != len(octets) - 1):
        raise ValueError("the last integer is cut short")
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    lengths = ends - starts + 1
    longest = int(lengths.max(initial=0))
    if longest > _MAX_LENGTH or np.any(octets[ends[lengths == _MAX_LENGTH]] > 1):
        raise ValueError("an integer has more than 64 bits")
    values = np.zeros(len(ends), np.uint64)
    for place in range(longest):
        chosen = lengths > place
        values[chosen] |= (octets[starts[chosen] + place] & 0x7F).astype(np.uint64) << np.uint64(7 * place)
    return values.tolist()


def zigzag(number: int) -> int:
    """Maps integers of 64 bits to nonnegative ones, small to small: 0, -1, 1, -2 to 0, 1, 2, 3."""
    return number << 1 if number >= 0 else ~(number << 1)


def unzigzag(number: int) -> int:
    """Returns the integer that `zigzag` maps to a number."""
    return number >> 1 if not number & 1 else ~(number >> 1)
