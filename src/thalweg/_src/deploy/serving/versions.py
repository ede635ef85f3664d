"""The versions of a model as a state machine: which of them to load and to unload, and in which states they are.

Events go in (a listing of the folder, the end of a load or an unload), instructions come out. A version is unloaded
only once one that replaces it is available, so a broken version leaves the last good one in service.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from thalweg._src.base import errors
from thalweg._src.base.export import export


class State(IntEnum):
    """The state of a version, with TensorFlow Serving's numbers."""

    START = 10
    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


@export("serving.Policy")
@dataclass(frozen=True, slots=True)
class Policy:
    """Which versions in a folder are served: the latest ones, specific ones, or all.

    Args:
        latest: How many of the highest numbers; None serves all.
        specific: The numbers of the versions, which then count instead.
    """

    latest: int | None = 1
    specific: frozenset[int] = frozenset()

    def choose(self, versions: Collection[int]) -> set[int]:
        """Returns which of the versions in a folder are served."""
        if self.specific:
            return set(versions) & self.specific
        return set(sorted(versions, reverse=True)[: self.latest])


@dataclass(frozen=True, slots=True)
class Instruction:
    """What the driver does with a version: it loads or unloads it."""

    version: int
    is_load: bool


@dataclass(frozen=True, slots=True)
class Contents:
    """The folder of a version, and time and size of its graph, which tell whether a broken version was replaced."""

    folder: str
    time: int = 0
    size: int = 0


@dataclass(slots=True)
class Status:
    """The state of a version, its files, and why it cannot be used."""

    state: State
    contents: Contents
    error: errors.OpError | None = None


@dataclass(slots=True)
class Versions:
    """The versions of one model.

    Each event changes the inputs (policy, listing, states) and then compares the versions that should be served, the
    target, with those that are, so that an event needs no knowledge of those before it: what is missing is loaded, what
    is too much unloaded. Nothing is unloaded while no version of the target is available, since a version that does
    not load must not take the last one that works from the clients; a model that is removed has an empty target.
    A version that could not be loaded is tried again only when its files change, or each look into the folder would
    try it.
    """

    name: str
    policy: Policy = field(default_factory=Policy)
    labels: Mapping[str, int] = field(default_factory=dict)
    status: dict[int, Status] = field(default_factory=dict)
    _contents: dict[int, Contents] = field(default_factory=dict)
    _is_removed: bool = False

    def configure(self, policy: Policy, labels: Mapping[str, int]) -> list[Instruction]:
        """Records another policy and other labels."""
        self.policy, self.labels, self._is_removed = policy, dict(labels), False
        return self._plan()

    def remove(self) -> list[Instruction]:
        """Ends the service of the model."""
        self._is_removed = True
        return self._plan()

    def listed(self, contents: Mapping[int, Contents]) -> list[Instruction]:
        """Records what is in the folder of the model."""
        self._contents = dict(contents)
        return self._plan()

    def loaded(self, version: int) -> list[Instruction]:
        """Records that a version was loaded."""
        self.status[version].state = State.AVAILABLE
        return self._plan()

    def failed(self, version: int, error: errors.OpError) -> list[Instruction]:
        """Records that a version could not be loaded."""
        self.status[version].state, self.status[version].error = State.END, error
        return self._plan()

    def unloaded(self, version: int) -> list[Instruction]:
        """Records that a version was unloaded."""
        self.status[version].state = State.END
        return self._plan()

    def available(self) -> list[int]:
        """Returns the versions that take requests, the highest first."""
        serving = [version for version, status in self.status.items() if status.state == State.AVAILABLE]
        return sorted(serving, reverse=True)

    def target(self) -> set[int]:
        """Returns the versions that are served, or are to be."""
        return set() if self._is_removed else self.policy.choose(self._contents)

    def is_settled(self) -> bool:
        """Returns whether nothing is being loaded."""
        return not any(status.state in (State.START, State.LOADING) for status in self.status.values())

    def is_over(self) -> bool:
        """Returns whether the model was removed, and all its versions are unloaded."""
        return self._is_removed and all(status.state == State.END for status in self.status.values())

    def find(self, version: int | None, label: str | None) -> int:
        """Returns the version that a request addresses: by number, by label, or the highest one that is available."""
        available = self.available()
        if label is not None:
            version = self.labelled(label)
        if version is None and available:
            return available[0]
        if version is None or version not in available:
            request = f"Latest({self.name})" if version is None else f"Specific({self.name}, {version})"
            raise errors.NotFoundError(None, None, f"Servable not found for request: {request}")
        return version

    def labelled(self, label: str) -> int:
        """Returns the version that a label stands for."""
        if label not in self.labels:
            raise errors.invalid(f"Unrecognized servable version label: {label}")
        return self.labels[label]

    def _plan(self) -> list[Instruction]:
        target = self.target()
        loads = [version for version in sorted(target, reverse=True) if self._should_load(version)]
        for version in loads:
            self.status[version] = Status(State.LOADING, self._contents[version])
        available = set(self.available())
        unloads = sorted(available - target) if not target or available & target else []
        for version in unloads:
            self.status[version].state = State.UNLOADING
        return [Instruction(version, True) for version in loads] + [Instruction(version, False) for version in unloads]

    def _should_load(self, version: int) -> bool:
        status = self.status.get(version)
        if status is None:
            return True
        if status.state != State.END:
            return False
        return status.error is None or status.contents != self._contents[version]
