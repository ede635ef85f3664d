"""The layers of a monitored session, from the outside in: recovery, coordination, hooks, the plain session."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from thalweg._src.base import errors, logging
from thalweg._src.base.config import RunMetadata, RunOptions
from thalweg._src.training.input.coordinator import Coordinator
from thalweg._src.training.session_manager import PREEMPTION_ERRORS
from thalweg._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from thalweg._src.training.training_state import TrainingState, fetched_step, step_tensors
from thalweg._src.training.variables.sessions import SessionLike

_GIVE_UP_SECONDS = 7200.0  # without a session, as long as workers wait for the chief by default
_LONGEST_PAUSE = 1.0  # seconds between two attempts to create a session
_call: ContextVar[object] = ContextVar("call", default=None)  # of a session that repeats it when it is lost


def current_call() -> object:
    """Returns the call of a recoverable session that runs on this thread, the same when it is repeated; or None."""
    return _call.get()


class StepContext:
    """The argument of a step function: the plain session, a run with hooks, and a request to stop."""

    def __init__(self, session: SessionLike, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session = session
        self._run_with_hooks_fn = run_with_hooks_fn

    @property
    def session(self) -> Any:
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Like `MonitoredSession.run`, with the hooks called around it."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> None:
        """Leaves the step function, and the `with` block of the session, without an error."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class Layer:
    """Wraps a session, or another layer."""

    def __init__(self, sess: Any) -> None:
        self._sess = sess

    @property
    def graph(self) -> Any:
        return self._sess.graph

    @property
    def sess_str(self) -> str:
        return str(self._sess.sess_str)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn: Callable[..., Any], raw_session: SessionLike) -> Any:
        return step_fn(StepContext(raw_session, self.run))

    def should_stop(self) -> bool:
        """Returns whether training should stop: due to this layer, an inner one, or a lost session."""
        if self._check_stop():
            return True
        if self._sess is None:
            return True
        return isinstance(self._sess, Layer) and self._sess.should_stop()

    def _check_stop(self) -> bool:
        return False

    def close(self) -> None:
        if self._sess is None:
            return
        try:
            self._sess.close()
        except PREEMPTION_ERRORS as error:
            logging.error("the session could not be closed cleanly: %s", error)
        finally:
            self._sess = None


class HookedSession(Layer):
    """Calls hooks around each run, and adds their fetches and feeds."""

    def __init__(self, sess: Any, hooks: Sequence[SessionRunHook], state: TrainingState) -> None:
        super().__init__(sess)
        self._hooks = hooks
        self._state, self._steps = state, step_tensors(sess.graph)
        self._should_stop = False

    def _check_stop(self) -> bool:
        return self._should_stop

    def run(
        self,
        fetches: Any,
        feed_dict: dict[Any, Any] | None = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        plain = options is None
        options = RunOptions() if plain else options
        run_metadata = RunMetadata() if run_metadata is None else run_metadata
        asked: dict[Any, Any] = {"caller": fetches}
        feeds: dict[Any, Any] = {}
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                asked[hook] = request.fetches
            if request.feed_dict:
                _require_different(feeds, request.feed_dict, "Same tensor is fed by two hooks.")
                feeds.update(request.feed_dict)
            if request.options is not None:
                _merge_options(options, request.options)
                plain = False
        all_feeds, before = _with_feeds_of_user(feeds, feed_dict), self._state.step
        values = self._sess.run(asked, all_feeds, None if plain else options, run_metadata)
        step = fetched_step(asked, values, self._steps)
        if step is not None:
            self._state.saw(step, before)
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(values.get(hook), options, run_metadata))
        self._should_stop = self._should_stop or context.stop_requested
        return values["caller"]


def _with_feeds_of_user(feeds: dict[Any, Any], user_feeds: Mapping[Any, Any] | None) -> Any:
    if not feeds or not user_feeds:
        return feeds or user_feeds
    _require_different(user_feeds, feeds, "Same tensor is fed by a SessionRunHook and user.")
    return {**feeds, **user_feeds}


def _require_different(feeds: Mapping[Any, Any], others: Mapping[Any, Any], what: str) -> None:
    both = set(feeds) & set(others)
    if both:
        raise RuntimeError(f"{what} Conflict(s): {list(both)}")


def _merge_options(options: Any, more: Any) -> None:
    """Merges run options: each option is on if either side requests it."""
    for name in ("trace_level", "timeout_in_ms", "inter_op_thread_pool"):
        setattr(options, name, max(getattr(options, name), getattr(more, name)))
    for name in ("output_partition_graphs", "report_tensor_allocations_upon_oom"):
        setattr(options, name, getattr(options, name) or getattr(more, name))
    options.debug_options.debug_tensor_watch_opts.extend(more.debug_options.debug_tensor_watch_opts)
    if more.debug_options.reset_disk_byte_usage:
        options.debug_options.reset_disk_byte_usage = True


class CoordinatedSession(Layer):
    """Stops together with the threads of a session, and raises their errors."""

    def __init__(self, sess: Any, coord: Coordinator, stop_grace_period_secs: float = 120) -> None:
        super().__init__(sess)
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def _check_stop(self) -> bool:
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def run(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._sess.run(*args, **kwargs)
        except PREEMPTION_ERRORS:
            raise
        except Exception:
            # A thread that lost its machine is the cause of the error in this step.
            try:
                self._coord.raise_requested_exception()
            except PREEMPTION_ERRORS:
                raise
            except Exception as error:
                logging.info("a thread of the session failed as well: %s", error)
            raise

    def abandon(self) -> None:
        """Ends all steps of a lost session at once; `close` then need not wait for what they wait for.

        Threads of queue runners find the session closed, and leave the queues open, which the next session uses.
        """
        session: Any = self._sess
        while isinstance(session, Layer):
            session = session._sess
        try:
            session.close()
        except errors.OpError as error:
            logging.info("the session could not be closed cleanly: %s", error)

    def close(self) -> None:
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True)
        finally:
            try:
                super().close()
            except Exception as error:  # the error of the threads is the one to raise
                logging.info("the session could not be closed cleanly: %s", error)


class RecoverableSession(Layer):
    """Replaces a lost session by a new one, and continues."""

    def __init__(self, create_session: Callable[[], Any], raw_session: Callable[[], Any]) -> None:
        self._create = create_session
        self._raw_session = raw_session
        self._lost_since: float | None = None
        super().__init__(self._create_session())

    def _create_session(self) -> Any:
        start, pause = time.monotonic(), 0.0
        while True:
            try:
                session = self._create()
            except PREEMPTION_ERRORS as error:
                if time.monotonic() - start > _GIVE_UP_SECONDS:
                    raise
                logging.warning("a session was lost while it was created, trying again: %s", _first_line(error))
                time.sleep(pause)
                pause = min(2 * pause + 0.1, _LONGEST_PAUSE)
                continue
            if self._lost_since is not None:
                logging.warning(
                    "training continues in a new session, after %.1f s", time.monotonic() - self._lost_since
                )
                self._lost_since = None
            return session

    def _lost(self, error: BaseException) -> None:
        logging.warning("the session is lost, and a new one is created: %s", _first_line(error))
        self._lost_since = self._lost_since or time.monotonic()
        session, self._sess = self._sess, None
        if isinstance(session, CoordinatedSession):
            session.abandon()
        try:
            session.close()
        except PREEMPTION_ERRORS as again:
            logging.info("the session could not be closed cleanly: %s", again)

    def _check_stop(self) -> bool:
        try:
            return self._sess._check_stop() if self._sess is not None else True
        except PREEMPTION_ERRORS as error:
            self._lost(error)
            self._sess = self._create_session()
            return False
        except Exception:  # the next run raises it
            return True

    def _retrying(self, call: Callable[[Any], Any]) -> Any:
        token = _call.set(object())
        try:
            while True:
                if self._sess is None:
                    self._sess = self._create_session()
                try:
                    return call(self._sess)
                except PREEMPTION_ERRORS as error:
                    self._lost(error)
        finally:
            _call.reset(token)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._retrying(lambda sess: sess.run(*args, **kwargs))

    def run_step_fn(self, step_fn: Callable[..., Any], raw_session: SessionLike) -> Any:
        return self._retrying(lambda sess: sess.run_step_fn(step_fn, self._raw_session()))


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
