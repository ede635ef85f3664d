"""SessionManager: creates sessions with initialized variables, from a checkpoint or from initializers."""

from __future__ import annotations

import contextlib
import os
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from thalweg._src.base import errors, logging
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.checkpoint.saver import Saver
from thalweg._src.training.checkpoint.state import check_checkpoint, deletable_checkpoints, get_checkpoint_state
from thalweg._src.training.training_state import INTERRUPTIONS, TrainingState, current_state, read_global_step, report

Ready = tuple[bool, str | None]  # whether it is ready, and if not, why
PREEMPTION_ERRORS = (errors.AbortedError, errors.UnavailableError)  # a new session may succeed
_POLL_SECONDS = 1.0  # at most, between two checks of what another task does


@export("train.SessionManager")
class SessionManager:
    """Restores the model from a checkpoint, initializes it, or waits until another task has done so."""

    def __init__(
        self,
        local_init_op: Operation | Tensor | None = None,
        ready_op: Operation | Tensor | None = None,
        ready_for_local_init_op: Operation | Tensor | None = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: dict[Any, Any] | None = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = graph if graph is not None else get_default_graph()
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options
        self._local_init_feed_dict = local_init_feed_dict

    # -- sessions -----------------------------------------------------------------------------------------------------

    def prepare_session(
        self,
        master: str,
        init_op: Operation | Tensor | None = None,
        saver: Saver | None = None,
        checkpoint_dir: PathLike | None = None,
        checkpoint_filename_with_path: PathLike | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: ConfigProto | None = None,
        init_feed_dict: dict[Any, Any] | None = None,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> Session:
        """Returns a session that is ready: restored if there is a checkpoint, initialized otherwise.

        If it replaces a lost one of a monitored session, and no task has lost variables, these stay as they are.
        """
        session = Session(master, graph=self._graph, config=config)
        state = current_state() or TrainingState()
        with _closed_on_failure(session):
            lost = self._why_lost(session, state)
            source = before = None
            if lost is not None:
                state.lost = lost  # also if this fails half-way
                before = read_global_step(session) if master else None
                source = self._restore(
                    session, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs
                )
            if lost is not None and source is None:
                if init_op is None and init_fn is None and self._local_init_op is None:
                    raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
                if init_op is not None:
                    session.run(init_op, feed_dict=init_feed_dict)
                if init_fn is not None:
                    init_fn(session)
            ready, why = self._run_local_init(session)
            if not ready:
                raise self._not_ready("ready for local_init", init_op, init_fn, why)
            ready, why = self._is_ready(session)
            if not ready:
                raise self._not_ready("ready", init_op, init_fn, why)
            if lost is None:
                logging.info("no variable was lost: training goes on without a restore")
            elif lost or before is not None:
                self._report(session, state, source, before)
            state.takes(session)
        return session

    def _why_lost(self, session: Session, state: TrainingState) -> str | None:
        """Returns why variables must be restored; empty for the first session, None if all are there and whole."""
        if state.is_new:
            return ""
        if why := state.lost or state.changes(session):
            return why
        op = self._ready_op if self._ready_for_local_init_op is None else self._ready_for_local_init_op
        ready, missing = _ready(op, session)
        if not ready:
            return missing
        if any(session.run(name) for name in self._graph.get_collection(INTERRUPTIONS)):
            return "an update was interrupted"
        return None

    def _report(self, session: Session, state: TrainingState, source: str | None, before: int | None) -> None:
        """Says what was restored, if steps were undone or a session was lost; the step before may be known here."""
        before, after = state.step if before is None else before, read_global_step(session)
        what = f"the state was restored from {source}" if source else "the state was initialized again"
        if state.lost:
            report(what, before, after, textwrap.shorten(state.lost, 300))
        elif before is not None and after is not None and after < before:
            report(what, before, after, "a chief that starts begins with the latest checkpoint")
        state.step = after

    def _not_ready(
        self, what: str, init_op: Operation | Tensor | None, init_fn: Callable[..., Any] | None, why: str | None
    ) -> RuntimeError:
        names = [getattr(op, "name", op) for op in (init_op, self._local_init_op)]
        ran = f"local_init_op: {names[1]}, " if what == "ready" else ""
        return RuntimeError(
            f"Init operations did not make model {what}.  Init op: {names[0]}, init fn: {init_fn}, {ran}error: {why}"
        )

    def recover_session(
        self,
        master: str,
        saver: Saver | None = None,
        checkpoint_dir: PathLike | None = None,
        checkpoint_filename_with_path: PathLike | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: ConfigProto | None = None,
    ) -> tuple[Session, bool]:
        """Returns a session, and whether it was restored from a checkpoint; otherwise the caller initializes it."""
        session = Session(master, graph=self._graph, config=config)
        with _closed_on_failure(session):
            restored = self._restore(
                session, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs
            )
            ready, why = self._run_local_init(session)
            if restored is None:
                return session, False
            if ready:
                ready, why = self._is_ready(session)
        source = checkpoint_dir or checkpoint_filename_with_path
        if ready:
            logging.info("Restored model from %s", source)
        else:
            logging.info("Restoring model from %s did not make model ready: %s", source, why)
        return session, ready

    def wait_for_session(
        self, master: str, config: ConfigProto | None = None, max_wait_secs: float | None = float("inf")
    ) -> Session:
        """Returns a session that another process has initialized; raises DeadlineExceededError on timeout."""
        until = time.monotonic() + (float("inf") if max_wait_secs is None else max_wait_secs)
        wait = self._waiting(until)
        while True:
            session = Session(master, graph=self._graph, config=config)
            with _closed_on_failure(session):
                ready, why = self._wait_until_ready(session, wait)
                if ready and (state := current_state()) is not None:
                    state.finds(session)
            if ready:
                return session
            session.close()
            if not wait(f"Waiting for model to be ready: {why}"):
                raise errors.DeadlineExceededError(
                    None, None, f"Session was not ready after waiting {max_wait_secs} secs: {why}"
                )

    def _wait_until_ready(self, session: Session, wait: Callable[[str], bool]) -> Ready:
        """Returns whether a session became ready, and if not, because it was lost or no time is left, why."""
        while True:
            try:
                ready, why = self._run_local_init(session)
                if ready:
                    ready, why = self._is_ready(session)
            except PREEMPTION_ERRORS as error:
                return False, error.message
            if ready or not wait(f"Waiting for model to be ready: {why}"):
                return ready, why

    def _waiting(self, until: float) -> Callable[[str], bool]:
        """Returns a function that waits until the next check, or returns False if no time is left for it.

        What is waited for is logged at most every `recovery_wait_secs`.
        """
        pause = min(_POLL_SECONDS, self._recovery_wait_secs)
        logged = -float("inf")

        def wait(what: str) -> bool:
            nonlocal logged
            now = time.monotonic()
            if now + pause > until:
                return False
            if now - logged >= self._recovery_wait_secs:
                logged = now
                logging.info("%s", what)
            time.sleep(pause)
            return True

        return wait

    # -- checkpoints --------------------------------------------------------------------------------------------------

    def _restore(
        self,
        session: Session,
        saver: Saver | None,
        folder: Any,
        path: PathLike | None,
        wait_for_checkpoint: bool,
        max_wait_secs: float,
    ) -> str | None:
        """Restores the named checkpoint, or the newest of a folder; returns which it was, None without one."""
        if folder and path:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        if saver is None or not (folder or path):
            return None
        if path:
            saver.restore(session, path)
            return os.fspath(path)
        wait = self._waiting(time.monotonic() + max_wait_secs)
        while (state := get_checkpoint_state(folder)) is None:
            if not wait_for_checkpoint or not wait("Waiting for checkpoint to be available."):
                return None
        source = self._restore_newest(session, saver, folder, state)
        saver.recover_last_checkpoints(deletable_checkpoints(folder, state))
        return source

    def _restore_newest(self, session: Session, saver: Saver, folder: PathLike, state: Any) -> str:
        """Restores the checkpoint named by the folder's state or, if it cannot be read, the newest intact one."""
        try:
            saver.restore(session, state.model_checkpoint_path)
            return str(state.model_checkpoint_path)
        except (errors.DataLossError, errors.NotFoundError, errors.OutOfRangeError, ValueError) as error:
            # restore_latest_good warns of each checkpoint that it passes over
            fits = isinstance(error, errors.DataLossError | errors.OutOfRangeError) or not _is_whole(state)
            if not fits or not hasattr(saver, "restore_latest_good"):
                raise
            source = saver.restore_latest_good(session, folder)
            if source is None:
                raise  # rather than training from scratch over a checkpoint that may be recoverable
            return source

    # -- readiness ----------------------------------------------------------------------------------------------------

    def _run_local_init(self, session: Session) -> Ready:
        """Runs the local initializers as soon as the model is ready for them."""
        if self._local_init_op is None:
            return True, None
        ready, why = _ready(self._ready_for_local_init_op, session)
        if not ready:
            return False, why
        session.run(self._local_init_op, feed_dict=self._local_init_feed_dict, options=self._local_init_run_options)
        return True, None

    def _is_ready(self, session: Session) -> Ready:
        return _ready(self._ready_op, session)


def _ready(op: Operation | Tensor | None, session: Session) -> Ready:
    """Returns whether an operation that reports uninitialized variables reports none."""
    if op is None:
        return True, None
    try:
        missing = session.run(op)
    except errors.FailedPreconditionError as error:
        return False, str(error)
    if missing is None or missing.dtype == np.int32 or missing.size == 0:
        return True, None
    names = ", ".join(name.decode("utf-8", "replace") for name in np.ravel(missing))
    return False, f"Variables not initialized: {names}"


def _is_whole(state: Any) -> bool:
    """Returns whether the newest checkpoint is intact, so that a failure has another cause (a different model)."""
    try:
        check_checkpoint(state.model_checkpoint_path)
    except errors.OpError:
        return False
    return True


@contextlib.contextmanager
def _closed_on_failure(session: Session) -> Iterator[None]:
    """Closes a session if an error occurs before the caller has it."""
    try:
        yield
    except BaseException:
        session.close()
        raise
