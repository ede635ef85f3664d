"""What graphs from other processes may reach outside of a task: files, checkpoints, Python."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from thalweg._src.base import errors
from thalweg._src.graph.op_def import EXTERNAL

ALLOW = "THALWEG_CLUSTER_ALLOW"
CHECKPOINTS = ("reads checkpoints", "writes checkpoints")
_BY_NAME = {"checkpoints": CHECKPOINTS, "files": ("reads files", "writes files"), "python": ("calls Python",)}


@dataclass(frozen=True, slots=True)
class Reach:
    """The kinds of access, of EXTERNAL, that a task refuses to graphs from other processes."""

    task: str
    refused: frozenset[str]

    @classmethod
    def allowing(cls, task: str, allowed: Collection[str] = CHECKPOINTS) -> Reach:
        return cls(task, frozenset(EXTERNAL) - frozenset(allowed))

    @classmethod
    def from_environment(cls, task: str) -> Reach:
        """Allows checkpoints, and what the environment adds."""
        names = [name.strip() for name in os.environ.get(ALLOW, "").split(",") if name.strip()]
        unknown = [name for name in names if name not in _BY_NAME]
        if unknown:
            raise errors.invalid(f"{ALLOW} has {unknown[0]!r}; it may have {', '.join(_BY_NAME)}, separated by commas")
        return cls.allowing(task, [access for name in ("checkpoints", *names) for access in _BY_NAME[name]])

    def check(self, nodes: Iterable[tuple[str, str, str]]) -> None:
        """Refuses a graph with nodes, given by name, op type and access, that are not allowed."""
        refused = [f"{op} {name!r} {access}" for name, op, access in nodes if access in self.refused]
        allow = "python" if any("Python" in text for text in refused) else "files"
        if refused:
            raise errors.PermissionDeniedError(
                None,
                None,
                f"{self.task} does not run operations that reach outside of it in graphs from other processes: "
                f"{', '.join(refused[:5])}; start the server with {ALLOW}={allow} to permit this",
            )
