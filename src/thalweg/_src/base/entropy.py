"""Entropy: the source of the seeds of random operations that are given none."""

from __future__ import annotations

import random

source: random.Random = random.SystemRandom()


def fresh_seed(bits: int = 63) -> int:
    """Returns a seed that no program can foresee."""
    return source.getrandbits(bits)
