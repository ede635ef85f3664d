"""Gradient accumulators: sums that many steps add to and one step takes once enough gradients have arrived.

A gradient carries the global step it was computed at; one older than the accumulator's own step is stale and dropped.
If it also carries the number of its replica, no replica is counted twice in a step, and gradients can be added in the
order of replicas, so that the sum does not depend on the order in which they arrive.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from typing import Any

import torch

from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import Shape, compatible, show
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.waiting import NO_PROGRESS, Attempt, Fail, Finish, Outcome, Resource, notify

_log = logging.getLogger("thalweg")


@dataclass(frozen=True, slots=True)
class Origin:
    """The replica that computed a gradient.

    per_replica: how many gradients of it are counted in a step
    in_order: whether gradients are added in the order of replicas, which are numbered from 0
    """

    replica: int
    per_replica: int = 1
    in_order: bool = False


class Accumulator(Resource):
    """A sum of dense gradients, with their count and the global step."""

    def __init__(self, name: str, dtype: DType, shape: Shape, reduction: str) -> None:
        super().__init__(name, deque())
        self.dtype = dtype
        self.shape = shape
        self.reduction = reduction
        self.count = 0
        self.global_step = 0
        self.forget()

    def forget(self) -> None:
        self._sum: Any = None
        self.count = 0
        self._counts: dict[int, int] = {}  # of the gradients of each replica
        self._early: dict[int, list[Any]] = {}  # gradients to be added after those of lower replicas
        self._next = 0  # the lowest replica whose gradients are not added

    def apply(self, local_step: int, gradient: Any, origin: Origin | None = None) -> None:
        """Adds a gradient, unless it is stale or its replica has added as many as it may."""
        with self.lock:
            if local_step < self.global_step:
                return
            self._require_shape(gradient)
            if origin is not None:
                count = self._counts.get(origin.replica, 0)
                if count >= origin.per_replica:
                    return
                self._counts[origin.replica] = count + 1
            if origin is None or not origin.in_order:
                self._add(gradient)
            else:
                self._add_in_order(origin, gradient)
            self.count += 1
            ended = self.advance()
        notify(ended)

    def _add_in_order(self, origin: Origin, gradient: Any) -> None:
        # Floating-point addition is not associative: the sum must not depend on the order of arrival. A gradient is
        # kept until all of the lower replicas have been added; a round that ends without some of them adds the rest in
        # order too (`collected`).
        self._early.setdefault(origin.replica, []).append(self._copy(gradient))
        while self._counts.get(self._next) == origin.per_replica:
            for early in self._early.pop(self._next):
                self._add(early)
            self._next += 1

    def _require_shape(self, gradient: Any) -> None:
        expected: Shape = self.shape if self._sum is None else tuple(self._sum.shape)
        if not compatible(expected, tuple(gradient.shape)):
            raise invalid(
                f"accumulator {self.name!r}: Shape mismatch: expected {show(expected)}, "
                f"got {show(tuple(gradient.shape))}"
            )

    def _copy(self, gradient: Any) -> Any:
        return gradient.clone()

    def _add(self, gradient: Any) -> None:
        self._sum = gradient.clone() if self._sum is None else self._sum.add_(gradient)

    def take(self, num_required: int, step: Step, finish: Finish, fail: Fail) -> None:
        """Takes the reduced gradient once enough have arrived, and increments the global step."""
        if num_required <= 0:
            raise invalid(f"accumulator {self.name!r}: Argument num_required must be positive, but is {num_required}")
        self.attempt(self.wait_queues[0], _Take(self, num_required, step, finish, fail))

    def collected(self) -> tuple[Any, ...]:
        """Returns the sum and the number of gradients, and resets both; the lock is held."""
        for _, gradients in sorted(self._early.items()):
            for gradient in gradients:
                self._add(gradient)
        result = (self._sum, self.count)
        self.forget()
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

    def reset(self, step: int) -> None:
        """Drops the gradients and sets the global step."""
        with self.lock:
            self.forget()
            self.global_step = step

    def __str__(self) -> str:
        return f"accumulator {self.name!r}"


def _divided(total: torch.Tensor, count: torch.Tensor | int) -> Any:
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

    def _require_shape(self, gradient: Any) -> None:
        _, values = gradient
        rows: Shape = (None, *(self.shape[1:] if self._sum is None else self._sum[1].shape[1:])) if self.shape else None
        if not compatible(rows, tuple(values.shape)):
            raise invalid(f"{self}: Shape mismatch: expected {show(rows)}, got {show(tuple(values.shape))}")

    def _copy(self, gradient: Any) -> Any:
        indices, values = gradient
        return indices.clone(), values.clone()

    def _add(self, gradient: Any) -> None:
        indices, values = gradient
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
