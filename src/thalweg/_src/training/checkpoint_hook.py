"""CheckpointSaverHook: saves a model during training, and notifies listeners."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.config import RunOptions
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graphdef import write_graph
from thalweg._src.graph.scopes import GraphKeys, get_collection
from thalweg._src.training.checkpoint.meta_graph import export_meta_graph
from thalweg._src.training.checkpoint.saver import Saver
from thalweg._src.training.checkpoint_interval import LONGEST, CheckpointInterval
from thalweg._src.training.input.coordinator import Coordinator
from thalweg._src.training.observe.file_writer import FileWriterCache
from thalweg._src.training.report_hooks import add_status
from thalweg._src.training.scaffold import Scaffold
from thalweg._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from thalweg._src.training.step_hooks import required_global_step
from thalweg._src.training.timers import SecondOrStepTimer
from thalweg._src.training.variables.sessions import SessionLike

AUTOMATIC = "auto"
PAUSES = "pauses_of_updates"  # collection of the names of operations: one that pauses updates, then one that resumes
_PAUSE_MILLISECONDS = 60_000
_SLOWDOWN = 0.1  # fraction of speed that training loses while a snapshot is written: to the writer, and to copies


@export("estimator.CheckpointSaverListener", "train.CheckpointSaverListener")
class CheckpointSaverListener:
    """Base class of listeners that are called before and after each checkpoint."""

    def begin(self) -> None:
        """Called before there is a session."""

    def before_save(self, session: SessionLike, global_step_value: int) -> None:
        """Called before a checkpoint is written."""

    def after_save(self, session: SessionLike, global_step_value: int) -> bool | None:
        """Called when a checkpoint is on disk; returning True stops training."""

    def end(self, session: SessionLike, global_step_value: int) -> None:
        """Called when training ends."""


@export("estimator.CheckpointSaverHook", "train.CheckpointSaverHook")
class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint when a session starts, every N steps or seconds, and at the end.

    With `save_secs="auto"` the interval minimizes the lost time: sqrt(2 c m) seconds, where c is the cost of a save and
    m the mean time between failures of the runs in this folder, both measured, at least 10 seconds and at most 600.
    With `asynchronous=True` a thread writes the files while training continues; listeners are notified, as always, when
    a checkpoint is on disk, which is then some steps later.

    Args:
        save_secs: Seconds between saves, or "auto" to derive them from the costs of saving and of failures.
        save_steps: Steps between saves; give this or `save_secs`.
        listeners: List of `CheckpointSaverListener` objects.
    """

    def __init__(
        self,
        checkpoint_dir: PathLike,
        save_secs: float | str | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Scaffold | None = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
        asynchronous: bool = False,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver = saver
        self._checkpoint_dir = os.fspath(checkpoint_dir)
        self._save_path = os.path.join(self._checkpoint_dir, checkpoint_basename)
        self._scaffold = scaffold
        self._interval = CheckpointInterval(self._checkpoint_dir) if save_secs == AUTOMATIC else None
        seconds: Any = LONGEST if self._interval is not None else save_secs
        self._timer = SecondOrStepTimer(every_secs=seconds, every_steps=save_steps)
        self._listeners = list(listeners or ())
        self._save_graph_def = save_graph_def
        self._asynchronous = asynchronous
        self._steps_per_run = 1
        # Of the save in progress: its step, when its thread began, and for how long training was stopped.
        self._written: tuple[int, float, float] | None = None

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        self._steps_per_run = steps_per_run

    # -- the life of a session ----------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._summary_writer = FileWriterCache.get(self._checkpoint_dir)
        self._global_step = required_global_step("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        if self._interval is not None:
            self._interval.begin()
        step = int(session.run(self._global_step))
        graph = get_default_graph()
        if self._save_graph_def:
            write_graph(graph.as_graph_def(add_shapes=True), self._checkpoint_dir, "graph.pbtxt")
        self._summary_writer.add_graph(graph)
        saver_def = getattr(self._get_saver(), "saver_def", None)
        self._summary_writer.add_meta_graph(export_meta_graph(graph=graph, saver_def=saver_def))
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        session = run_context.session
        stops = self._written is not None and not self._get_saver().is_writing and self._finish(session)
        if self._timer.should_trigger_for_step(run_values.results + self._steps_per_run):
            step = int(session.run(self._global_step))  # the value fetched by the step may precede its update
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                stops = self._save(session, step) or stops
        if stops:
            run_context.request_stop()

    def end(self, session: SessionLike) -> None:
        step = int(session.run(self._global_step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        self._finish(session)
        for listener in self._listeners:
            listener.end(session, step)
        if self._interval is not None:
            self._interval.end()
        self._summary_writer.flush()

    # -- saving -------------------------------------------------------------------------------------------------------

    def _save(self, session: SessionLike, step: int) -> bool:
        """Saves a checkpoint; returns whether a listener requests to stop."""
        stops = self._finish(session)
        start = time.monotonic()
        for listener in self._listeners:
            listener.before_save(session, step)
        logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
        saver = self._get_saver()
        if self._asynchronous:
            saver.make_asynchronous()
        with paused_updates(session):
            saver.save(session, self._save_path, global_step=step, write_meta_graph=self._save_graph_def)
        if self._asynchronous:
            now = time.monotonic()
            self._written = (step, now, now - start)
            return stops
        stops = self._notify(session, step) or stops
        self._count(time.monotonic() - start)
        return stops

    def _finish(self, session: SessionLike) -> bool:
        """Waits for the save in progress, if there is one, and notifies the listeners."""
        if self._written is None:
            return False
        (step, start, stood), self._written = self._written, None
        end = time.monotonic()
        self._get_saver().wait()
        stops = self._notify(session, step)
        self._count(stood + _SLOWDOWN * (end - start) + time.monotonic() - end)
        return stops

    def _notify(self, session: SessionLike, step: int) -> bool:
        add_status(self._summary_writer, "CHECKPOINT", step, self._save_path)
        answers = [listener.after_save(session, step) for listener in self._listeners]
        return any(answers)

    def _count(self, cost: float) -> None:
        if self._interval is not None:
            self._interval.saved(cost)
            self._timer._every_secs = self._interval.seconds

    def _get_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = get_collection(GraphKeys.SAVERS)
        if not savers:
            raise RuntimeError(
                f"No items in collection {GraphKeys.SAVERS}. Please add a saver to the collection or provide a saver "
                "or scaffold."
            )
        if len(savers) > 1:
            raise RuntimeError(
                f"More than one item in collection {GraphKeys.SAVERS}. "
                "Please indicate which one to use by passing it to the constructor."
            )
        self._saver = savers[0]
        return self._saver


@contextlib.contextmanager
def paused_updates(session: SessionLike) -> Iterator[None]:
    """Keeps synchronous optimizers from updating variables, so that a checkpoint has all of an update or none of it."""
    names = session.graph.get_collection(PAUSES)
    pauses, resumptions = ([session.graph.get_operation_by_name(name) for name in names[i::2]] for i in (0, 1))
    if pauses:
        session.run(pauses, options=RunOptions(timeout_in_ms=_PAUSE_MILLISECONDS))
    try:
        yield
    finally:
        if resumptions:
            session.run(resumptions)
