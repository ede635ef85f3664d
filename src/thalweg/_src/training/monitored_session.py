"""MonitoredSession: a session that initializes itself, calls hooks, recovers, and stops cleanly."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.scopes import GraphKeys, get_collection
from thalweg._src.training.input.coordinator import Coordinator
from thalweg._src.training.input.queue_runner import start_queue_runners
from thalweg._src.training.scaffold import Scaffold
from thalweg._src.training.session_creators import ChiefSessionCreator, SessionCreator
from thalweg._src.training.session_layers import CoordinatedSession, HookedSession, RecoverableSession, StepContext
from thalweg._src.training.session_manager import PREEMPTION_ERRORS
from thalweg._src.training.session_run_hook import SessionRunHook
from thalweg._src.training.sync_replicas import require_chief
from thalweg._src.training.training_state import TrainingState


class _CoordinatedCreator(SessionCreator):
    """Creates sessions, starts their queue runners and notifies the hooks."""

    def __init__(
        self,
        creator: SessionCreator,
        hooks: Sequence[SessionRunHook],
        should_recover: bool,
        stop_grace_period_secs: float,
    ) -> None:
        self._creator = creator
        self._hooks = hooks
        self._should_recover = should_recover
        self._stop_grace_period_secs = stop_grace_period_secs
        self._state = TrainingState()
        self.tf_sess: Any = None
        self.coord: Coordinator | None = None

    def create_session(self) -> CoordinatedSession:
        with self._state.creates():
            self.tf_sess = session = self._creator.create_session()
        self.coord = coord = Coordinator(clean_stop_exception_types=[])
        if self._should_recover:
            coord.recover_from(*PREEMPTION_ERRORS)
        hooked = HookedSession(session, self._hooks, self._state)
        coordinated = CoordinatedSession(hooked, coord, self._stop_grace_period_secs)
        try:
            if get_collection(GraphKeys.QUEUE_RUNNERS):
                start_queue_runners(sess=session, coord=coord)
            for hook in self._hooks:
                hook.after_create_session(session, coord)
        except BaseException as error:
            if self._should_recover and isinstance(error, PREEMPTION_ERRORS):
                coordinated.abandon()
            _close_quietly(coordinated)
            raise
        return coordinated


def _close_quietly(session: CoordinatedSession) -> None:
    """Closes a session that was not returned to the caller, so that no thread is left; the first error is raised."""
    try:
        session.close()
    except Exception:
        return


class _MonitoredSession:
    """Base class of `MonitoredSession` and `SingularMonitoredSession`."""

    StepContext = StepContext

    def __init__(
        self,
        session_creator: SessionCreator | None,
        hooks: Sequence[SessionRunHook] | None,
        should_recover: bool,
        stop_grace_period_secs: float = 120,
    ) -> None:
        self._graph_was_finalized = get_default_graph().finalized
        self._hooks = list(hooks or ())
        for hook in self._hooks:
            require_members("hooks", hook, "session run hooks", "begin")
            hook.begin()
        creator = ChiefSessionCreator() if session_creator is None else session_creator
        require_members("session_creator", creator, "a SessionCreator or None", "create_session")
        if isinstance(creator, ChiefSessionCreator):
            require_chief()
        self._coordinated_creator = _CoordinatedCreator(creator, self._hooks, should_recover, stop_grace_period_secs)
        self._sess: Any = None
        try:
            if should_recover:
                create = self._coordinated_creator.create_session
                self._sess = RecoverableSession(create, lambda: self._coordinated_creator.tf_sess)
            else:
                self._sess = self._coordinated_creator.create_session()
        except BaseException:
            self._unfinalize()
            raise

    @property
    def graph(self) -> Any:
        """The graph of the session; None when it is closed."""
        session = self._tf_sess()
        return None if session is None else session.graph

    def run(
        self,
        fetches: Any,
        feed_dict: dict[Any, Any] | None = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """Runs the fetches, with the hooks called before and after."""
        self._require_open()
        return self._sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Calls a function with a StepContext, from which it can run the plain session and the one with hooks."""
        names = tuple(inspect.signature(step_fn).parameters)
        full = names if not inspect.ismethod(step_fn) else ("self", *names)
        if full not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments if it's "
                f"an instance method. Got {full} instead."
            )
        self._require_open()
        return self._sess.run_step_fn(step_fn, self._tf_sess())

    def should_stop(self) -> bool:
        """Returns whether the loop should stop, as a hook or the end of the input requests."""
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        """Ends the hooks, stops the threads and closes the session."""
        self._close()

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, exception_type: type[BaseException] | None, exception_value: BaseException | None, traceback: object
    ) -> bool:
        # The end of the input and a step function's request to stop end training normally.
        if exception_type in (errors.OutOfRangeError, StopIteration):
            exception_type = None
        self._close(exception_type)
        return exception_type is None

    def _require_open(self) -> None:
        if self._sess is None:
            raise RuntimeError("Session is already closed.")

    def _close(self, exception_type: type[BaseException] | None = None) -> None:
        try:
            if exception_type is None:
                for hook in self._hooks:
                    hook.end(self._coordinated_creator.tf_sess)
        finally:
            try:
                self._require_open()
                self._sess.close()
            finally:
                self._sess = None
                self._coordinated_creator.tf_sess = None
                self._coordinated_creator.coord = None
                self._unfinalize()

    def _unfinalize(self) -> None:
        if not self._graph_was_finalized:
            get_default_graph()._unsafe_unfinalize()

    def _is_closed(self) -> bool:
        return self._coordinated_creator.tf_sess is None

    def _tf_sess(self) -> Any:
        return self._coordinated_creator.tf_sess


@export("train.MonitoredSession")
class MonitoredSession(_MonitoredSession):
    """A session with hooks that is re-created from the last checkpoint when it is lost."""

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


@export("train.SingularMonitoredSession")
class SingularMonitoredSession(_MonitoredSession):
    """A session with hooks that raises all errors, and gives access to the plain session."""

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        checkpoint_dir: PathLike | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: PathLike | None = None,
    ) -> None:
        creator = ChiefSessionCreator(
            scaffold=scaffold,
            master=master,
            config=config,
            checkpoint_dir=checkpoint_dir,
            checkpoint_filename_with_path=checkpoint_filename_with_path,
        )
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """Returns the plain session."""
        return self._tf_sess()
