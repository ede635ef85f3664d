"""Philox 4x32-10 counter-based random number generator, for ops that must reproduce TensorFlow's numbers."""

from __future__ import annotations

from collections.abc import Iterator

_MASK = 2**32 - 1
_ROUNDS = 10


class Philox:
    """A stream of 32-bit random integers determined by two seeds, generated in blocks of four."""

    def __init__(self, seed: int, seed2: int) -> None:
        self._key = (seed & _MASK, seed >> 32 & _MASK)
        self._high = seed2 & (2**64 - 1)
        self._low = 0

    def reserve(self, count: int) -> Iterator[int]:
        """Returns at least `count` integers and advances the stream."""
        start, blocks = self._low, (count + 3) // 4
        self._low += blocks
        return (number for block in range(start, start + blocks) for number in self._block(block))

    def _block(self, index: int) -> tuple[int, int, int, int]:
        counter = index + (self._high << 64)
        a, b, c, d = (counter >> shift & _MASK for shift in (0, 32, 64, 96))
        key0, key1 = self._key
        for _ in range(_ROUNDS):
            first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
            a, b, c, d = second >> 32 ^ b ^ key0, second & _MASK, first >> 32 ^ d ^ key1, first & _MASK
            key0, key1 = key0 + 0x9E3779B9 & _MASK, key1 + 0xBB67AE85 & _MASK
        return a, b, c, d
