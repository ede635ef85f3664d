"""TrainingState: what a monitored session has seen of its training, to tell lost connections from lost variables.

A session is lost when a task is restarted, which loses the variables there, or when the network fails, which loses
none. After the latter nothing is restored: that would undo the steps of all workers since the last checkpoint.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from thalweg._src.base import errors, logging
from thalweg._src.base.devices import matches, task_of
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.training.variables.global_step import existing_global_step_read, get_global_step
from thalweg._src.training.variables.sessions import SessionLike

INTERRUPTIONS = "interruptions_of_updates"  # collection of the names of tensors: whether an update was interrupted
_current: ContextVar[TrainingState | None] = ContextVar("training_state", default=None)


def current_state() -> TrainingState | None:
    """Returns the state of the monitored session for which this thread creates a session, or None."""
    return _current.get()


class TrainingState:
    """What the sessions of one training saw: the tasks with variables, their incarnations, and the global step.

    step: the last global step that was seen; None before
    lost: why variables have to be restored or initialized again; empty if they do not have to
    """

    def __init__(self) -> None:
        self.step: int | None = None
        self.lost = ""
        self._incarnations: Mapping[str, int] | None = None  # by device; None before the first session

    @contextlib.contextmanager
    def creates(self) -> Iterator[None]:
        """Context manager in which a session of this training is created."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    @property
    def is_new(self) -> bool:
        """Whether no session was ready yet."""
        return self._incarnations is None

    def changes(self, session: Any) -> str:
        """Returns which tasks have lost their variables since the last session, in words; empty if none has."""
        now = _incarnations(session)
        tasks = {task_of(device) for device, number in (self._incarnations or {}).items() if now.get(device) != number}
        return f"the variables of {', '.join(sorted(tasks))} were lost, as by a restart" if tasks else ""

    def takes(self, session: Any, step: int | None = None) -> None:
        """Goes on with a session that is ready, at a step if that is known."""
        self._incarnations, self.lost = _incarnations(session), ""
        self.step = self.step if step is None else step

    def finds(self, session: Any) -> None:
        """Goes on with a session that another task has made ready, and says whether that restored variables."""
        step = None
        if not self.is_new:
            why, step = self.changes(session), read_global_step(session)
            if why or _is_less(step, self.step):
                report("the state was restored", self.step, step, why)
        self.takes(session, step)

    def saw(self, step: int, before: int | None) -> None:
        """Takes a global step that a run fetched, and says if it went back; before: `self.step` when the run began."""
        # A run sees no smaller step than one that ended before it began, whatever other threads run at the same time.
        if _is_less(step, before) and not _is_less(self.step, before):
            report("the state was restored", before, step)
            self.step = step
        elif self.step is None or step > self.step:
            self.step = step


def _is_less(step: int | None, other: int | None) -> bool:
    return step is not None and other is not None and step < other


def report(what: str, before: int | None, after: int | None, why: str = "") -> None:
    """Says that the variables are not those of before."""
    steps = (
        "" if after is None else f": global step {after}" if before is None else f": global step {before} -> {after}"
    )
    logging.warning("%s%s%s", what, steps, why and f" ({why})")


def read_global_step(session: SessionLike) -> int | None:
    """Returns the global step; None if there is none, or it is not initialized."""
    step = get_global_step(session.graph)
    try:
        return None if step is None else int(session.run(step))
    except (errors.FailedPreconditionError, errors.InvalidArgumentError):
        return None


def step_tensors(graph: Graph) -> list[Any]:
    """Returns what programs and hooks fetch as the global step."""
    return [step for step in (get_global_step(graph), existing_global_step_read(graph)) if step is not None]


def fetched_step(fetches: Mapping[Any, Any], values: Mapping[Any, Any], steps: Sequence[Any]) -> int | None:
    """Returns the global step among the values that a caller and hooks fetched; None if none of them fetched it."""
    for key, asked in fetches.items():
        if any(asked is step for step in steps):
            return int(values[key])
        items: Any = asked.items() if isinstance(asked, dict) else ()
        for place, fetch in enumerate(asked) if isinstance(asked, list | tuple) else items:
            if any(fetch is step for step in steps):
                return int(values[key][place])
    return None


def _incarnations(session: Any) -> dict[str, int]:
    """Returns the incarnations of the devices of all tasks that may have variables."""
    variables = session.graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    tasks = {task_of(variable.device) if "/device:" in variable.device else variable.device for variable in variables}
    return {
        device.name: device.incarnation
        for device in session.list_devices()
        if any(matches(task, device.name) for task in tasks)
    }
