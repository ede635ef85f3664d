"""SessionRunHook: callbacks around each step of a monitored session, and their arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.training.input.coordinator import Coordinator
from thalweg._src.training.variables.sessions import SessionLike


@export("estimator.SessionRunArgs", "train.SessionRunArgs")
class SessionRunArgs(NamedTuple):
    """Fetches, feeds and options that a hook adds to a step.

    Args:
        fetches: A tensor, operation or name, or a nest of them.
        options: `RunOptions` of the step.
    """

    fetches: Any
    feed_dict: dict[Any, Any] | None = None
    options: Any = None


@export("estimator.SessionRunValues", "train.SessionRunValues")
class SessionRunValues(NamedTuple):
    """The values of a hook's fetches and the metadata of the step.

    Args:
        results: Values of the fetches.
        options: `RunOptions` of the step.
        run_metadata: What the step reported, a `RunMetadata`.
    """

    results: Any
    options: Any
    run_metadata: Any


@export("estimator.SessionRunContext", "train.SessionRunContext")
class SessionRunContext:
    """The context of one `run` call: its arguments, the session, and a request to stop.

    Args:
        original_args: The arguments of the caller's `run`.
        session: The plain session.
    """

    original_args = ReadOnly[SessionRunArgs]("The arguments of the call of `run`.")
    session = ReadOnly[Any]("The session of the step.")
    stop_requested = ReadOnly[bool]("Whether a hook requested a stop.")

    def __init__(self, original_args: SessionRunArgs, session: SessionLike) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    def request_stop(self) -> None:
        """Makes `should_stop` of the monitored session return True from now on."""
        self._stop_requested = True


@export("estimator.SessionRunHook", "train.SessionRunHook")
class SessionRunHook:
    """Base class of hooks that are called around session creation and each step."""

    def begin(self) -> None:
        """Called once before there is a session; the last opportunity to add to the graph."""

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Called with every new session, including one that replaces a lost one."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each step; returns what to fetch and feed in addition to the caller's arguments."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each step that did not fail, with the values of what `before_run` requested."""

    def end(self, session: SessionLike) -> None:
        """Called once, when training ends without an error."""
