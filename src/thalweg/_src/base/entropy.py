"""Entropy: the source of the seeds of random operations that are given none."""

from __future__ import annotations

import random

from thalweg._src.base import determinism, errors

source: random.Random = random.SystemRandom()


def fresh_seed(bits: int = 63) -> int:
    """Returns a seed that no program can foresee."""
    return source.getrandbits(bits)


def fresh_op_seed(bits: int = 63) -> int:
    """Returns a seed for an operation that is given none, which is an error where results must be deterministic."""
    if determinism.needs_seeds():
        raise errors.invalid(
            "a random operation has no seed, and operations must be deterministic: set its seeds, or build its graph "
            "after tf.set_random_seed(1)"
        )
    return fresh_seed(bits)
