"""SessionRunHook: callbacks around each step of a monitored session, and their arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

from thalweg._src.export import export


@export("estimator.SessionRunArgs", "train.SessionRunArgs")
class SessionRunArgs(NamedTuple):
    """The arguments of a step: fetches, feeds and options."""

    fetches: Any
    feed_dict: dict[Any, Any] | None = None
    options: Any = None


@export("estimator.SessionRunValues", "train.SessionRunValues")
class SessionRunValues(NamedTuple):
    """The results of a step: the values of the fetches that a hook requested, and the metadata of the step."""

    results: Any
    options: Any
    run_metadata: Any


@export("estimator.SessionRunContext", "train.SessionRunContext")
class SessionRunContext:
    """One call of `run`: the caller's arguments, the plain session, and whether a stop was requested."""

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        return self._original_args

    @property
    def session(self) -> Any:
        return self._session

    @property
    def stop_requested(self) -> bool:
        return self._stop_requested

    def request_stop(self) -> None:
        """Makes `should_stop` of the monitored session return True from now on."""
        self._stop_requested = True


@export("estimator.SessionRunHook", "train.SessionRunHook")
class SessionRunHook:
    """Base class of hooks, which are called during the lifetime of a monitored session."""

    def begin(self) -> None:
        """Called once before there is a session; the last opportunity to add to the graph."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called with every new session, including one that replaces a lost one."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each step; returns what to fetch and feed in addition to the caller's arguments."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each step that did not fail, with the values of what `before_run` requested."""

    def end(self, session: Any) -> None:
        """Called once, when training ends without an error."""
