"""Hooks on the global step: they stop at a step, measure the rate of steps, or wait for a step."""

from __future__ import annotations

import time
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.training.input.coordinator import Coordinator
from thalweg._src.training.observe.file_writer import FileWriter, FileWriterCache
from thalweg._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from thalweg._src.training.timers import SecondOrStepTimer
from thalweg._src.training.variables.global_step import get_global_step, global_step_read
from thalweg._src.training.variables.sessions import SessionLike

_RUNS_BEFORE_WARNING = 20  # that see the same global step


def required_global_step(user: str) -> Any:
    """Returns the value of the default graph's global step before a step, which a hook requires."""
    step = global_step_read()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {user}.")
    return step


@export("estimator.StopAtStepHook", "train.StopAtStepHook")
class StopAtStepHook(SessionRunHook):
    """Stops after a number of steps, or at a step."""

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        self._global_step = required_global_step("StopAtStepHook")

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        if self._last_step is None:
            self._last_step = int(session.run(self._global_step)) + (self._num_steps or 0)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        # The step may have been read before or after its update; near the limit it is read again.
        last = self._last_step or 0
        if run_values.results + 1 >= last and run_context.session.run(self._global_step) >= last:
            run_context.request_stop()


@export("estimator.StepCounterHook", "train.StepCounterHook")
class StepCounterHook(SessionRunHook):
    """Reports the number of steps per second, in the log and in an event file."""

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: PathLike | None = None,
        summary_writer: FileWriter | None = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_steps)
        self._output_dir = output_dir
        self._summary_writer = summary_writer
        self._first_step: int | None = None
        self._runs_without: int | None = 0  # an increased step; None once it has increased
        self._steps_per_run = 1

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._global_step = required_global_step("StepCounterHook")
        self._summary_tag = f"{get_global_step().op.name}/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        seen = run_values.results
        if self._timer.should_trigger_for_step(seen + self._steps_per_run):
            step = run_context.session.run(self._global_step)
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds is not None and steps is not None:
                    self._log_and_record(steps, seconds, step)
        self._warn_if_constant(seen)

    def _warn_if_constant(self, step: int) -> None:
        """Warns if no training operation seems to increment the global step.

        In synchronous training several runs see the same step while others are waited for, and a run that does not
        train sees it at any time: a step that has increased once is incremented.
        """
        if self._first_step is None:
            self._first_step = step
        elif step != self._first_step:
            self._runs_without = None
        if self._runs_without is None:
            return
        self._runs_without += 1
        if self._runs_without == _RUNS_BEFORE_WARNING:
            logging.warning(
                "the global step does not increase (it was %s in %s runs): does the training operation increment it?",
                step,
                _RUNS_BEFORE_WARNING,
            )

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        self._record_rate(self._summary_tag, elapsed_steps, elapsed_time, global_step)

    def _record_rate(self, tag: str, count: int, seconds: float, global_step: int) -> None:
        rate = count / seconds if seconds > 0 else float("inf")
        if self._summary_writer is not None:
            from tensorboard.compat.proto.summary_pb2 import Summary

            value = Summary.Value(tag=tag, simple_value=rate)
            self._summary_writer.add_summary(Summary(value=[value]), global_step)
        logging.info("%s: %g", tag, rate)


@export("estimator.GlobalStepWaiterHook", "train.GlobalStepWaiterHook")
class GlobalStepWaiterHook(SessionRunHook):
    """Delays the first step until other workers have advanced the global step to a value."""

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        self._is_started = self._wait_until_step <= 0
        self._global_step = required_global_step("GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        if self._is_started:
            return
        logging.info("Waiting for global step %d before starting training.", self._wait_until_step)
        while run_context.session.run(self._global_step) < self._wait_until_step:
            time.sleep(0.5)
        self._is_started = True
