"""Gradient accumulators: sums that many steps add to and one step takes once enough gradients have arrived.

A gradient carries the global step it was computed at; one older than the accumulator's own step is stale and dropped.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import Any

import torch

from thalweg._src.dtypes import DType
from thalweg._src.errors import invalid
from thalweg._src.resources.step import Step
from thalweg._src.resources.waiting import NO_PROGRESS, Attempt, Fail, Finish, Outcome, Resource, notify
from thalweg._src.shapes import Shape, compatible, show

_log = logging.getLogger("thalweg")


class Accumulator(Resource):
    """A sum of dense gradients, with their count and the global step."""

    def __init__(self, name: str, dtype: DType, shape: Shape, reduction: str) -> None:
        super().__init__(name, deque())
        self.dtype = dtype
        self.shape = shape
        self.reduction = reduction
        self.count = 0
        self.global_step = 0
        self._sum: Any = None

    def apply(self, local_step: int, gradient: Any) -> None:
        """Adds a gradient, unless it is stale."""
        with self.lock:
            if local_step < self.global_step:
                return
            self._add(gradient)
            self.count += 1
            ended = self.advance()
        notify(ended)

    def _add(self, gradient: Any) -> None:
        expected: Shape = self.shape if self._sum is None else tuple(self._sum.shape)
        if not compatible(expected, tuple(gradient.shape)):
            raise invalid(
                f"accumulator {self.name!r}: Shape mismatch: expected {show(expected)}, "
                f"got {show(tuple(gradient.shape))}"
            )
        self._sum = gradient.clone() if self._sum is None else self._sum.add_(gradient)

    def take(self, num_required: int, step: Step, finish: Finish, fail: Fail) -> None:
        """Takes the reduced gradient once enough have arrived, and increments the global step."""
        if num_required <= 0:
            raise invalid(f"accumulator {self.name!r}: Argument num_required must be positive, but is {num_required}")
        self.attempt(self.wait_queues[0], _Take(self, num_required, step, finish, fail))

    def collected(self) -> tuple[Any, ...]:
        """Returns the sum and the number of gradients, and resets both; the lock is held."""
        result = (self._sum, self.count)
        self._sum, self.count = None, 0
        return result

    def reduced(self, total: torch.Tensor, count: int) -> tuple[Any, ...]:
        """Returns the sum or the mean, as the accumulator's reduction asks."""
        return (total if self.reduction == "SUM" else _divided(total, count),)

    def set_global_step(self, step: int) -> None:
        with self.lock:
            if step < self.global_step:
                _log.warning(
                    "the global step of accumulator %r goes back from %d to %d", self.name, self.global_step, step
                )
            self.global_step = step

    def forget(self) -> None:
        self._sum, self.count = None, 0

    def __str__(self) -> str:
        return f"accumulator {self.name!r}"


def _divided(total: torch.Tensor, count: Any) -> Any:
    if total.dtype.is_floating_point or total.dtype.is_complex:
        return total / count
    return torch.div(total, count, rounding_mode="trunc").to(total.dtype)


class _Take(Attempt):
    __slots__ = ("_accumulator", "_required")

    def __init__(self, accumulator: Accumulator, required: int, step: Step, finish: Finish, fail: Fail) -> None:
        super().__init__(step, finish, fail)
        self._accumulator = accumulator
        self._required = required

    def advance(self) -> Outcome:
        if self._accumulator.count < self._required:
            return NO_PROGRESS
        self._accumulator.global_step += 1
        return self._accumulator.collected()


class SparseAccumulator(Accumulator):
    """A sum of sparse gradients; the mean of a row is over those gradients that contain it."""

    def _add(self, gradient: Any) -> None:
        indices, values = gradient
        rows: Shape = (None, *(self.shape[1:] if self._sum is None else self._sum[1].shape[1:])) if self.shape else None
        if not compatible(rows, tuple(values.shape)):
            raise invalid(f"{self}: Shape mismatch: expected {show(rows)}, got {show(tuple(values.shape))}")
        counts = torch.ones_like(indices)
        if self._sum is None:
            self._sum = indices.clone(), values.clone(), counts
            return
        all_indices = torch.cat([self._sum[0], indices])
        unique, places = torch.unique(all_indices, return_inverse=True)
        joined = torch.cat([self._sum[1], values])
        total = torch.zeros((len(unique), *values.shape[1:]), dtype=values.dtype).index_add_(0, places, joined)
        numbers = torch.zeros(len(unique), dtype=torch.int64).index_add_(0, places, torch.cat([self._sum[2], counts]))
        self._sum = unique, total, numbers

    def reduced(self, total: Any, count: int) -> tuple[Any, ...]:
        indices, values, counts = total
        if self.reduction == "MEAN":
            values = _divided(values, counts.reshape(-1, *[1] * (values.ndim - 1)).to(values.dtype))
        rows = self.shape[0] if self.shape else None
        return indices, values, torch.tensor([-1 if rows is None else rows, *values.shape[1:]])
