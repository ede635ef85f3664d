"""train_and_evaluate: training with evaluations in turn in one process, or at the tasks of a cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.estimator.calls import check_hooks
from thalweg._src.estimator.estimator import Estimator
from thalweg._src.estimator.exporters import Exporter
from thalweg._src.estimator.tasks import (
    MOST_SECONDS,
    SECONDS_PER_WORKER,
    EvaluatingListener,
    served,
    start_server,
    wait_before_training,
    wait_for_next_evaluation,
)
from thalweg._src.estimator.tf_config import CHIEF, EVALUATOR, MASTER, PS, WORKER
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.training.checkpoint_hook import CheckpointSaverListener
from thalweg._src.training.session_run_hook import SessionRunHook

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
    """The input, the length, the hooks, the exporters and the times of evaluations.

    Args:
        steps: Number of batches to evaluate; None goes on until the input ends.
        name: Name of the evaluation, which ends the name of its folder.
        exporters: An `Exporter`, or several, called after each evaluation.
        start_delay_secs: Seconds before the first evaluation of an evaluator.
        throttle_secs: Least number of seconds between evaluations.
    """

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


def _require_function(input_fn: object) -> None:
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn!r}")


def _checked_exporters(exporters: Exporter | Iterable[Exporter] | None) -> tuple[Exporter, ...]:
    if exporters is None:
        return ()
    checked = (exporters,) if isinstance(exporters, Exporter) else tuple(exporters)
    names = set()
    for exporter in checked:
        if not isinstance(exporter, Exporter):
            raise TypeError(f"`exporters` must be an Exporter, or an iterable of them, given: {exporter!r}")
        if not exporter.name or exporter.name in names:
            raise ValueError(f"exporters must have names that differ, received {exporter.name!r} twice or empty")
        names.add(exporter.name)
    return checked


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
        runs = {
            CHIEF: self._train_with_server,
            WORKER: self._train_as_worker,
            PS: self._serve,
            EVALUATOR: self._evaluate_repeatedly,
            MASTER: self._train_as_master,
        }
        if config.task_type not in runs:
            raise ValueError(f"task type {config.task_type!r} has no part in training; expected one of {sorted(runs)}")
        return runs[config.task_type]()

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
        self._train([EvaluatingListener(evaluator.evaluate, self._eval_spec.throttle_secs, at_end=True)])
        return evaluator.metrics, evaluator.exports

    def _train_with_server(self) -> None:
        with served(self._config):
            self._train()

    def _train_as_worker(self) -> None:
        """Trains after a delay, by which workers start one after the other."""
        most = self._config.experimental_max_worker_delay_secs
        wait_before_training(
            min(MOST_SECONDS if most is None else most, (self._config.task_id + 1) * SECONDS_PER_WORKER)
        )
        self._train_with_server()

    def _train_as_master(self) -> tuple[dict[str, Any] | None, list[Any]]:
        with served(self._config):
            return self._train_in_turn()

    def _serve(self) -> None:
        start_server(self._config).join()

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
            wait_for_next_evaluation(start, self._eval_spec.throttle_secs)
        logging.info("Exiting evaluation, global_step=%s >= train max_steps=%s", evaluator.step, max_steps)


@export("estimator.train_and_evaluate")
def train_and_evaluate(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    """Trains and evaluates a model, in this process or as the task of a cluster that TF_CONFIG gives.

    Returns the metrics of the last evaluation and what the exporters returned, where one process does both.

    Args:
        train_spec: A `TrainSpec`.
        eval_spec: An `EvalSpec`.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`, given {type(estimator)}")
    if not isinstance(train_spec, TrainSpec):
        raise TypeError(f"`train_spec` must have type `tf.estimator.TrainSpec`, given {type(train_spec)}")
    if not isinstance(eval_spec, EvalSpec):
        raise TypeError(f"`eval_spec` must have type `tf.estimator.EvalSpec`, given {type(eval_spec)}")
    return _Executor(estimator, train_spec, eval_spec).run()
