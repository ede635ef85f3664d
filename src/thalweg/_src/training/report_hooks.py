"""Reporting hooks: values in the log, summaries for TensorBoard, profiles for a trace viewer."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from thalweg._src.base import logging
from thalweg._src.base.config import RunOptions
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph.default import get_default_graph
from thalweg._src.training.observe.file_writer import FileWriter, FileWriterCache
from thalweg._src.training.observe.timeline import Timeline
from thalweg._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from thalweg._src.training.step_hooks import required_global_step
from thalweg._src.training.timers import NeverTriggerTimer, SecondOrStepTimer
from thalweg._src.training.variables.sessions import SessionLike


@export("estimator.LoggingTensorHook", "train.LoggingTensorHook")
class LoggingTensorHook(SessionRunHook):
    """Logs values every N steps or seconds, or at the end.

    The level is INFO: `tf.logging.set_verbosity(tf.logging.INFO)` shows it.

    Args:
        tensors: Tensors or their names: a list, or a dictionary by tag.
        every_n_iter: Number of steps between reports; give this or `every_n_secs`.
        at_end: Whether values are reported at the end.
        formatter: Function from values by tag to a text.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if not isinstance(tensors, Mapping):
            tensors = {item: item for item in tensors}
        self._tensors = dict(tensors)
        self._formatter = formatter
        self._at_end = at_end
        self._timer = NeverTriggerTimer() if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)

    def begin(self) -> None:
        self._timer.reset()
        self._iteration = 0
        self._current = {tag: _element(tensor) for tag, tensor in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._is_due = self._timer.should_trigger_for_step(self._iteration)
        return SessionRunArgs(self._current) if self._is_due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._is_due:
            self._log_tensors(run_values.results)
        self._iteration += 1

    def end(self, session: SessionLike) -> None:
        if self._at_end:
            self._log_tensors(session.run(self._current))

    def _log_tensors(self, values: dict[Any, Any]) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._iteration)
        with np.printoptions(suppress=True):
            if self._formatter is not None:
                logging.info("%s", self._formatter(values))
                return
            text = ", ".join(f"{getattr(tag, 'name', tag)} = {values[tag]}" for tag in self._tensors)
        logging.info("%s", text if seconds is None else f"{text} ({seconds:.3f} sec)")


def _element(value: object) -> Any:
    """Returns the tensor of a name, or an object of the graph itself; the name of an op with one output means that."""
    graph = get_default_graph()
    if not isinstance(value, str):
        if getattr(value, "graph", None) is not graph:
            raise ValueError(f"{value!r} is not of the graph of this session")
        return value
    if ":" in value:
        return graph.as_graph_element(value)
    outputs = graph.get_operation_by_name(value).outputs
    if len(outputs) > 1:
        raise ValueError(f"{value!r} is ambiguous: the operation has {len(outputs)} outputs; write '{value}:0'")
    return graph.get_tensor_by_name(f"{value}:0")


@export("estimator.SummarySaverHook", "train.SummarySaverHook")
class SummarySaverHook(SessionRunHook):
    """Writes summaries to an event file every N steps or seconds.

    Args:
        save_steps: Steps between records; give this or `save_secs`.
        save_secs: Seconds between records; give this or `save_steps`.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: PathLike | None = None,
        summary_writer: FileWriter | None = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._next_step: int | None = None
        self._global_step = required_global_step("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._is_due = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        fetches: dict[str, Any] = {"global_step": self._global_step}
        if self._is_due:
            summaries = self._get_summary_op()
            if summaries is not None:
                fetches["summary"] = summaries
        return SessionRunArgs(fetches)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._summary_writer is None:
            return
        step = run_values.results["global_step"] + 1
        if self._is_due:
            step = run_context.session.run(self._global_step)
            if self._next_step is None:
                add_status(self._summary_writer, "START", step)
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: SessionLike) -> None:
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def _get_summary_op(self) -> list[Any] | None:
        summary_op = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        if summary_op is None:
            return None
        return list(summary_op) if isinstance(summary_op, list | tuple) else [summary_op]


def add_status(writer: FileWriter, status: str, step: int | None = None, checkpoint_path: str = "") -> None:
    """Records in an event file that a session started, stopped or saved a checkpoint."""
    from tensorboard.compat.proto.event_pb2 import SessionLog

    message = SessionLog(status=SessionLog.SessionStatus.Value(status), checkpoint_path=checkpoint_path)
    writer.add_session_log(message, step)


@export("estimator.ProfilerHook", "train.ProfilerHook", "contrib.hooks.ProfilerHook")
class ProfilerHook(SessionRunHook):
    """Profiles a step at intervals: as `timeline-<step>.json` for Perfetto or Chrome, as an event for TensorBoard.

    Args:
        save_steps: Steps between records; give this or `save_secs`.
        save_secs: Seconds between records; give this or `save_steps`.
        show_dataflow: Whether the trace shows what flows between operations.
        show_memory: Whether the trace shows memory.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._output_dir = output_dir
        self._file_writer = FileWriterCache.get(output_dir)
        self._show_dataflow = show_dataflow
        self._show_memory = show_memory

    def begin(self) -> None:
        self._next_step: int | None = None
        self._global_step = required_global_step("ProfilerHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        # The first step is never profiled, since it includes compilation.
        self._is_due = self._next_step is not None and self._timer.should_trigger_for_step(self._next_step)
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._is_due else None
        return SessionRunArgs({"global_step": self._global_step}, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        seen = run_values.results["global_step"]
        if self._next_step is None:
            self._timer.update_last_triggered_step(seen)
        step = seen + 1
        if self._is_due:
            step = run_context.session.run(self._global_step)
            self._timer.update_last_triggered_step(step)
            self._save(step, run_values.run_metadata)
        self._next_step = step + 1

    def _save(self, step: int, run_metadata: Any) -> None:
        path = os.path.join(self._output_dir, f"timeline-{step}.json")
        logging.info("Saving timeline for %d into '%s'.", step, path)
        trace = Timeline(run_metadata.step_stats).generate_chrome_trace_format(self._show_dataflow, self._show_memory)
        with open(path, "w", encoding="utf-8") as file:
            file.write(trace)
        self._file_writer.add_run_metadata(run_metadata, f"step_{step}", step)
