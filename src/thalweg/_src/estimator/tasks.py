"""Tasks of a cluster: what they do around training: they serve, wait, and evaluate what was saved."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from thalweg._src.base import logging
from thalweg._src.cluster.distributed.server import Server
from thalweg._src.estimator.run_config import RunConfig
from thalweg._src.training.checkpoint_hook import CheckpointSaverListener
from thalweg._src.training.timers import SecondOrStepTimer
from thalweg._src.training.variables.sessions import SessionLike

SECONDS_PER_WORKER, MOST_SECONDS = 5, 60  # of the delay with which workers start
_SHORTEST_WAIT = 0.1  # seconds between two looks for a new checkpoint


def start_server(config: RunConfig) -> Server:
    """Starts the server of this task."""
    if not config.cluster_spec:
        raise ValueError("a server needs a cluster: set the environment variable TF_CONFIG")
    return Server(
        config.cluster_spec,
        job_name=config.task_type,
        task_index=config.task_id,
        config=config.session_config,
        protocol=config.protocol,
    )


@contextlib.contextmanager
def served(config: RunConfig) -> Iterator[None]:
    """Context manager: the server of this task runs, unless its sessions are in its process alone."""
    server = start_server(config) if config.cluster_spec and config.master else None
    try:
        yield
    finally:
        if server is not None:
            server.stop()


def wait_before_training(seconds: float) -> None:
    """Waits, so that workers start one after the other."""
    if seconds > 0:
        logging.info("Waiting %d secs before starting training.", seconds)
        time.sleep(seconds)


def wait_for_next_evaluation(start: float, throttle_secs: float) -> None:
    """Waits until enough time has passed since the start of an evaluation, by the monotonic clock."""
    time.sleep(max(_SHORTEST_WAIT, throttle_secs - (time.monotonic() - start)))


class EvaluatingListener(CheckpointSaverListener):
    """Evaluates checkpoints when they have been saved, unless the last evaluation is too recent.

    at_end: whether the last checkpoint of the training is evaluated in any case
    """

    def __init__(
        self,
        evaluate: Callable[[], object],
        throttle_secs: float | None = None,
        every_steps: int | None = None,
        at_end: bool = False,
    ) -> None:
        self._evaluate = evaluate
        self._throttle_secs = throttle_secs
        self._every_steps = every_steps
        self._at_end = at_end

    def begin(self) -> None:
        self._timer = SecondOrStepTimer(self._throttle_secs, self._every_steps)
        self._has_started = False

    def after_save(self, session: SessionLike, global_step_value: int) -> None:
        if not self._has_started:  # the first checkpoint is that of the start
            self._has_started = True
            self._timer.update_last_triggered_step(global_step_value)
        elif self._timer.should_trigger_for_step(global_step_value):
            self._evaluate_at(global_step_value)
        elif self._throttle_secs is not None:
            logging.info("Skip the current checkpoint eval due to throttle secs (%s secs).", self._throttle_secs)

    def end(self, session: SessionLike, global_step_value: int) -> None:
        if self._at_end and self._timer.last_triggered_step() != global_step_value:
            self._evaluate_at(global_step_value)

    def _evaluate_at(self, step: int) -> None:
        self._timer.update_last_triggered_step(step)
        self._evaluate()
