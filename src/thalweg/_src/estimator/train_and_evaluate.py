"""train_and_evaluate: training with evaluations in turn in one process, or at the tasks of a cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.cluster.distributed.server import Server
from thalweg._src.estimator.calls import check_hooks
from thalweg._src.estimator.estimator import Estimator
from thalweg._src.estimator.exporters import Exporter
from thalweg._src.estimator.tf_config import CHIEF, EVALUATOR, MASTER, PS, WORKER
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.training.checkpoint_hook import CheckpointSaverListener
from thalweg._src.training.session_run_hook import SessionRunHook
from thalweg._src.training.timers import SecondOrStepTimer

_SECONDS_PER_WORKER, _MOST_SECONDS = 5, 60

# -- what to train and to evaluate ------------------------------------------------------------------------------------


class _Training(NamedTuple):
    input_fn: Callable[..., Any]
    max_steps: int | None
    hooks: tuple[SessionRunHook, ...]


class _Evaluation(NamedTuple):
    input_fn: Callable[..., Any]
    steps: int | None
    name: str | None
    hooks: tuple[SessionRunHook, ...]
    exporters: tuple[Exporter, ...]
    start_delay_secs: float
    throttle_secs: float


@export("estimator.TrainSpec")
class TrainSpec(_Training):
    """The input, the last step and the hooks of training."""

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        max_steps: int | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
    ) -> TrainSpec:
        _require_function(input_fn)
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, input_fn, max_steps, tuple(check_hooks(hooks)))


@export("estimator.EvalSpec")
class EvalSpec(_Evaluation):
    """The input, the length, the hooks, the exporters and the times of evaluations."""

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        steps: int | None = 100,
        name: str | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        exporters: Exporter | Sequence[Exporter] | None = None,
        start_delay_secs: float = 120,
        throttle_secs: float = 600,
    ) -> EvalSpec:
        _require_function(input_fn)
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name!r}")
        if start_delay_secs < 0:
            raise ValueError(f"Must specify start_delay_secs >= 0, given: {start_delay_secs}")
        if throttle_secs < 0:
            raise ValueError(f"Must specify throttle_secs >= 0, given: {throttle_secs}")
        checked = _checked_exporters(exporters)
        return super().__new__(
            cls, input_fn, steps, name, tuple(check_hooks(hooks)), checked, start_delay_secs, throttle_secs
        )


def _require_function(input_fn: Any) -> None:
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn!r}")


def _checked_exporters(exporters: Any) -> tuple[Exporter, ...]:
    if exporters is None:
        return ()
    given = (exporters,) if isinstance(exporters, Exporter) else tuple(exporters)
    names = set()
    for exporter in given:
        if not isinstance(exporter, Exporter):
            raise TypeError(f"`exporters` must be an Exporter, or an iterable of them, given: {exporter!r}")
        if not exporter.name or exporter.name in names:
            raise ValueError(f"exporters must have names that differ, received {exporter.name!r} twice or empty")
        names.add(exporter.name)
    return given


# -- evaluation -------------------------------------------------------------------------------------------------------


class _Evaluator:
    """Evaluates the newest checkpoint, unless it has been, and calls the exporters."""

    def __init__(self, estimator: Estimator, spec: EvalSpec, max_steps: int | None) -> None:
        self._estimator = estimator
        self._spec = spec
        self._max_steps = max_steps
        self._previous: str | None = None
        self.metrics: dict[str, Any] | None = None
        self.exports: list[Any] = []

    @property
    def step(self) -> int:
        """The global step of the last evaluated checkpoint."""
        return 0 if self.metrics is None else int(self.metrics[GraphKeys.GLOBAL_STEP])

    def evaluate(self) -> bool:
        """Returns whether there was something to evaluate."""
        path = self._estimator.latest_checkpoint()
        if path is None:
            logging.warning("Estimator is not trained yet. Will start an evaluation when a checkpoint is ready.")
            return False
        if path == self._previous:
            return False
        spec = self._spec
        self.metrics = self._estimator.evaluate(spec.input_fn, spec.steps, spec.hooks, path, spec.name)
        is_final = self.step >= self._max_steps if self._max_steps else True
        self.exports = []
        for exporter in spec.exporters:
            folder = os.path.join(self._estimator.model_dir, "export", exporter.name)
            self.exports.append(
                exporter.export(
                    estimator=self._estimator,
                    export_path=folder,
                    checkpoint_path=path,
                    eval_result=self.metrics,
                    is_the_final_export=is_final,
                )
            )
        self._previous = path
        return True


class _EvaluatingListener(CheckpointSaverListener):
    """Evaluates checkpoints when they have been saved, unless the last evaluation is too recent."""

    def __init__(self, evaluator: _Evaluator, throttle_secs: float) -> None:
        self._evaluator = evaluator
        self._throttle_secs = throttle_secs

    def begin(self) -> None:
        self._timer = SecondOrStepTimer(every_secs=self._throttle_secs)
        self._is_trained = False

    def after_save(self, session: Any, global_step_value: int) -> None:
        if not self._is_trained:  # the first checkpoint is that of the start
            self._is_trained = True
            self._timer.update_last_triggered_step(global_step_value)
        elif self._timer.should_trigger_for_step(global_step_value):
            self._evaluate(global_step_value)
        else:
            logging.info("Skip the current checkpoint eval due to throttle secs (%s secs).", self._throttle_secs)

    def end(self, session: Any, global_step_value: int) -> None:
        if self._timer.last_triggered_step() != global_step_value:
            self._evaluate(global_step_value)

    def _evaluate(self, step: int) -> None:
        self._timer.update_last_triggered_step(step)
        self._evaluator.evaluate()


# -- tasks ------------------------------------------------------------------------------------------------------------


class _Executor:
    """What each task of a cluster does."""

    def __init__(self, estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> None:
        self._estimator = estimator
        self._train_spec = train_spec
        self._eval_spec = eval_spec
        self._config = estimator.config

    def run(self) -> Any:
        """Does the part of this process; returns metrics and exports where it evaluates in turn with training."""
        config = self._config
        if not config.cluster_spec and config.task_type != EVALUATOR:
            logging.info("Running training and evaluation locally (non-distributed).")
            return self._train_in_turn()
        parts = {
            CHIEF: self._train_with_server,
            WORKER: self._train_as_worker,
            PS: self._serve,
            EVALUATOR: self._evaluate_repeatedly,
            MASTER: self._train_as_master,
        }
        if config.task_type not in parts:
            raise ValueError(f"task type {config.task_type!r} has no part in training; expected one of {sorted(parts)}")
        return parts[config.task_type]()

    def _train(self, listeners: Sequence[CheckpointSaverListener] = ()) -> None:
        spec = self._train_spec
        self._estimator.train(spec.input_fn, spec.hooks, max_steps=spec.max_steps, saving_listeners=listeners)

    def _train_in_turn(self) -> tuple[dict[str, Any] | None, list[Any]]:
        evaluator = _Evaluator(self._estimator, self._eval_spec, self._train_spec.max_steps)
        logging.info(
            "Start train and evaluate loop. Checkpoints are evaluated when they are saved: every %s steps or %s secs.",
            self._config.save_checkpoints_steps,
            self._config.save_checkpoints_secs,
        )
        self._train([_EvaluatingListener(evaluator, self._eval_spec.throttle_secs)])
        return evaluator.metrics, evaluator.exports

    def _server(self) -> Server | None:
        """Starts the server of this task; None if its sessions are in its process alone."""
        config = self._config
        if not config.cluster_spec or (config.task_type != PS and not config.master):
            return None
        return Server(
            config.cluster_spec,
            job_name=config.task_type,
            task_index=config.task_id,
            config=config.session_config,
            protocol=config.protocol,
        )

    def _train_with_server(self) -> None:
        server = self._server()
        try:
            self._train()
        finally:
            if server is not None:
                server.stop()

    def _train_as_worker(self) -> None:
        """Trains after a delay, by which workers start one after the other."""
        most = self._config.experimental_max_worker_delay_secs
        delay = min(_MOST_SECONDS if most is None else most, (self._config.task_id + 1) * _SECONDS_PER_WORKER)
        if delay > 0:
            logging.info("Waiting %d secs before starting training.", delay)
            time.sleep(delay)
        self._train_with_server()

    def _train_as_master(self) -> tuple[dict[str, Any] | None, list[Any]]:
        server = self._server()
        try:
            return self._train_in_turn()
        finally:
            if server is not None:
                server.stop()

    def _serve(self) -> None:
        server = self._server()
        if server is None:
            raise ValueError("a parameter server needs a cluster in TF_CONFIG")
        server.join()

    def _evaluate_repeatedly(self) -> None:
        """Evaluates new checkpoints, until the one of the last step of training has been."""
        max_steps = self._train_spec.max_steps
        evaluator = _Evaluator(self._estimator, self._eval_spec, max_steps)
        if self._eval_spec.start_delay_secs > 0:
            logging.info("Waiting %s secs before starting eval.", self._eval_spec.start_delay_secs)
            time.sleep(self._eval_spec.start_delay_secs)
        while max_steps is None or evaluator.step < max_steps:
            start = time.monotonic()
            if not evaluator.evaluate():
                logging.info("No new checkpoint ready for evaluation.")
            if max_steps is not None and evaluator.step >= max_steps:
                break
            time.sleep(max(0.0, self._eval_spec.throttle_secs - (time.monotonic() - start), _SHORTEST_WAIT))
        logging.info("Exiting evaluation, global_step=%s >= train max_steps=%s", evaluator.step, max_steps)


_SHORTEST_WAIT = 0.1  # seconds between two looks for a new checkpoint


@export("estimator.train_and_evaluate")
def train_and_evaluate(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    """Trains and evaluates a model, in this process or as the task of a cluster that TF_CONFIG gives.

    Returns the metrics of the last evaluation and what the exporters returned, where one process does both.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`, given {type(estimator)}")
    if not isinstance(train_spec, TrainSpec):
        raise TypeError(f"`train_spec` must have type `tf.estimator.TrainSpec`, given {type(train_spec)}")
    if not isinstance(eval_spec, EvalSpec):
        raise TypeError(f"`eval_spec` must have type `tf.estimator.EvalSpec`, given {type(eval_spec)}")
    return _Executor(estimator, train_spec, eval_spec).run()
