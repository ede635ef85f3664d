"""Collectives over several tasks, as kernels see them; `distributed/` has the groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from thalweg._src.base import errors
from thalweg._src.runtime.resources.step import Step

Finish = Callable[[Any], None]  # called with the result
Fail = Callable[[Any, errors.OpError], None]  # called with the step and the error


@dataclass(frozen=True, slots=True)
class Group:
    """The members of a group.

    size: of all tasks
    local_size: of this task
    """

    key: int
    size: int
    local_size: int


@dataclass(frozen=True, slots=True)
class Action:
    """What the members of a group at several tasks do together.

    kind: reduce, gather, send or receive
    plan: a text that is the same at all tasks, which is compared before; empty if a plan of the step contains it
    """

    kind: str
    merge_op: str
    plan: str


class Pending(Protocol):
    """A collective that has started."""

    def wait(self, finish: Finish) -> None:
        """Calls `finish` with the result, when it is there."""


class Collectives(Protocol):
    """The groups of a session at this task."""

    def begin(self, group: Group, step: Step, plan: str, count: int, fail: Fail) -> None:
        """Compares what all tasks of a group are about to do, so many operations; what starts later waits for that."""

    def start(self, group: Group, step: Step, action: Action, value: torch.Tensor, fail: Fail) -> Pending:
        """Starts a collective on a flat tensor, which it may overwrite."""
