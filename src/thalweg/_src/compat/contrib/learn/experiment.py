"""Experiment: an Estimator with its input of training and evaluation; learn_runner runs it at a task of a cluster."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.compat.contrib.learn.estimator import Estimator, with_metrics
from thalweg._src.compat.contrib.learn.export_strategy import ExportStrategy
from thalweg._src.estimator.estimator import Estimator as CoreEstimator
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
from thalweg._src.training.step_hooks import GlobalStepWaiterHook

_STEPS_PER_WORKER, _STEPS_PER_ITERATION = 5500.0, 1000
_NAME = "one_pass"


@export("contrib.learn.Experiment")
class Experiment:
    """A model with all that is needed to train and to evaluate it.

    Args:
        estimator: A `tf.estimator.Estimator`, or one of `tf.contrib.learn`.
        train_input_fn: Function that returns the input of training.
        eval_input_fn: Function that returns the input of evaluation.
        eval_metrics: `MetricSpec` objects by name, or None.
        train_steps: Global step to stop at; None trains until the input ends.
        eval_steps: Number of batches to evaluate; None goes on until the input ends.
        train_monitors: Hooks of training.
        eval_hooks: Hooks of evaluation.
        local_eval_frequency: Older name of `min_eval_frequency`.
        eval_delay_secs: Seconds before the first evaluation of an evaluator.
        continuous_eval_throttle_secs: Least number of seconds between evaluations of an evaluator.
        min_eval_frequency: Least number of steps between evaluations during training; 0 evaluates after it alone.
        delay_workers_by_global_step: Whether workers wait for steps of others instead of some seconds.
        export_strategies: An `ExportStrategy`, or several, called after the last evaluation.
        train_steps_per_iteration: Number of steps between evaluations of `continuous_train_and_eval`.
        checkpoint_and_export: Accepted for compatibility; checkpoints are saved as the `RunConfig` says.
        saving_listeners: Listeners that are called when checkpoints are saved.
        check_interval_secs: Accepted for compatibility; it has no effect.
    """

    estimator = ReadOnly[Any]("The Estimator.")
    eval_metrics = ReadOnly[Any]("The metrics by name, or None.")
    train_steps = ReadOnly[int | None]("The global step to stop at.")
    eval_steps = ReadOnly[int | None]("The number of batches to evaluate.")

    def __init__(
        self,
        estimator: Any,
        train_input_fn: Callable[..., Any],
        eval_input_fn: Callable[..., Any],
        eval_metrics: Any = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Sequence[Any] | None = None,
        eval_hooks: Sequence[Any] | None = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: Any = None,
        train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Sequence[CheckpointSaverListener] | None = None,
        check_interval_secs: float = 5,
    ) -> None:
        if not isinstance(estimator, CoreEstimator | Estimator):
            raise ValueError(f"`estimator` must be a tf.estimator.Estimator or of tf.contrib.learn, got {estimator!r}")
        if isinstance(estimator, CoreEstimator) and eval_metrics is not None:
            raise ValueError("`eval_metrics` must be None with `tf.estimator.Estimator`: use tf.estimator.add_metrics")
        self._estimator = estimator
        self._core = estimator if isinstance(estimator, CoreEstimator) else estimator._core
        self._train_input_fn, self._eval_input_fn = train_input_fn, eval_input_fn
        self._eval_metrics = eval_metrics
        self._train_steps, self._eval_steps = train_steps, eval_steps
        self._train_hooks, self._eval_hooks = list(train_monitors or ()), list(eval_hooks or ())
        self._eval_delay_secs, self._throttle_secs = eval_delay_secs, continuous_eval_throttle_secs
        frequency = local_eval_frequency if min_eval_frequency is None else min_eval_frequency
        self._min_eval_frequency = 1 if frequency is None else frequency
        self._delay_by_step = delay_workers_by_global_step
        self._train_steps_per_iteration = train_steps_per_iteration
        self._export_strategies = _strategies(export_strategies)
        self._listeners = list(saving_listeners or ())

    def extend_train_hooks(self, additional_hooks: Sequence[Any]) -> None:
        """Adds hooks of training."""
        self._train_hooks.extend(additional_hooks)

    def train(self, delay_secs: float | None = None) -> Any:
        """Trains the model, as a task of a cluster after a delay, and returns the Estimator."""
        config = self._core.config
        if delay_secs is None:
            delay_secs = min(MOST_SECONDS, config.task_id * SECONDS_PER_WORKER)
        with served(config):
            if self._delay_by_step:
                wait = int(_STEPS_PER_WORKER * config.task_id * math.log(config.task_id + 1))
                self._train_hooks.append(GlobalStepWaiterHook(wait))
            else:
                wait_before_training(delay_secs)
            self._train(self._listeners)
        return self._estimator

    def _train(self, listeners: Sequence[CheckpointSaverListener]) -> None:
        self._core.train(self._train_input_fn, self._train_hooks, None, self._train_steps, listeners)

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> dict[str, Any]:
        """Returns the metrics of the newest checkpoint, after a delay."""
        time.sleep(self._eval_delay_secs if delay_secs is None else delay_secs)
        return self._evaluate(self._eval_steps, name or _NAME)

    def _evaluate(self, steps: int | None, name: str | None) -> dict[str, Any]:
        core = with_metrics(self._core, self._eval_metrics)
        return core.evaluate(self._eval_input_fn, steps, self._eval_hooks, name=name)

    def train_and_evaluate(self) -> tuple[dict[str, Any], list[Any]]:
        """Trains the model and evaluates checkpoints meanwhile; returns the metrics at the end, and the exports."""
        listeners = list(self._listeners)
        if self._min_eval_frequency:
            evaluate = functools.partial(self._evaluate, self._eval_steps, _NAME)
            listeners.append(EvaluatingListener(evaluate, every_steps=self._min_eval_frequency))
        with served(self._core.config):
            self._train(listeners)
        return self._evaluated_and_exported()

    local_run = train_and_evaluate

    def _evaluated_and_exported(self) -> tuple[dict[str, Any], list[Any]]:
        metrics = self._evaluate(self._eval_steps, _NAME)
        return metrics, [strategy._run(self._estimator, metrics) for strategy in self._export_strategies]

    def continuous_train_and_eval(
        self, continuous_eval_predicate_fn: Callable[..., bool] | None = None
    ) -> tuple[dict[str, Any] | None, list[Any]]:
        """Trains for some steps and evaluates, in turn, until the last step or until a function returns False."""
        metrics: dict[str, Any] | None = None
        exported: list[Any] = []
        while continuous_eval_predicate_fn is None or continuous_eval_predicate_fn(metrics):
            done = 0 if metrics is None else int(metrics[GraphKeys.GLOBAL_STEP])
            if self._train_steps is not None and done >= self._train_steps:
                break
            count = self._train_steps_per_iteration or self._train_steps or _STEPS_PER_ITERATION
            left = count if self._train_steps is None else min(count, self._train_steps - done)
            self._core.train(self._train_input_fn, self._train_hooks, steps=left, saving_listeners=self._listeners)
            metrics, exported = self._evaluated_and_exported()
        return metrics, exported

    def continuous_eval(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        evaluate_checkpoint_only_once: bool = True,
        continuous_eval_predicate_fn: Callable[..., bool] | None = None,
        name: str = "continuous",
    ) -> dict[str, Any] | None:
        """Evaluates new checkpoints until the last step has been, or a function of the results returns False."""
        time.sleep(self._eval_delay_secs if delay_secs is None else delay_secs)
        throttle = self._throttle_secs if throttle_delay_secs is None else throttle_delay_secs
        metrics, previous = None, None
        while continuous_eval_predicate_fn is None or continuous_eval_predicate_fn(metrics):
            start, path = time.monotonic(), self._core.latest_checkpoint()
            if path is not None and (path != previous or not evaluate_checkpoint_only_once):
                metrics, previous = self._evaluate(self._eval_steps, name), path
            done = 0 if metrics is None else int(metrics[GraphKeys.GLOBAL_STEP])
            if self._train_steps is not None and done >= self._train_steps:
                break
            wait_for_next_evaluation(start, throttle)
        return metrics

    def test(self) -> dict[str, Any]:
        """Trains for one step and evaluates one batch, as a check that the model runs."""
        self._core.train(self._train_input_fn, self._train_hooks, steps=1)
        return self._evaluate(1, _NAME)

    def run_std_server(self) -> None:
        """Serves a task of the cluster, such as a parameter server, until it is ended."""
        start_server(self._core.config).join()


def _strategies(export_strategies: Any) -> list[ExportStrategy]:
    if export_strategies is None:
        return []
    listed = [export_strategies] if isinstance(export_strategies, ExportStrategy) else list(export_strategies)
    for strategy in listed:
        if not isinstance(strategy, ExportStrategy):
            raise ValueError(f"`export_strategies` must be an ExportStrategy, or several, received {strategy!r}")
    return listed


_SCHEDULES = {
    CHIEF: "train",
    EVALUATOR: "continuous_eval",
    MASTER: "train_and_evaluate",
    PS: "run_std_server",
    WORKER: "train",
}


@export("contrib.learn.learn_runner.run")
def run(
    experiment_fn: Callable[..., Experiment],
    output_dir: str | None = None,
    schedule: str | None = None,
    run_config: Any = None,
    hparams: Any = None,
) -> Any:
    """Makes an Experiment and does the part of this process: by default it trains and evaluates, if it is alone.

    Args:
        experiment_fn: Function of a folder, or of `run_config` and `hparams`, that returns an Experiment.
        output_dir: The folder; give this or `run_config`.
        schedule: Name of the method of the Experiment to call; by default that of the task.
        run_config: A `RunConfig` with a model_dir.
        hparams: Hyperparameters, which the function receives.
    """
    if not callable(experiment_fn):
        raise TypeError(f"Experiment builder {experiment_fn!r} is not callable.")
    if (output_dir is None) == (run_config is None):
        raise ValueError("give either `output_dir` or `run_config`, which has the folder")
    if run_config is not None and not run_config.model_dir:
        raise ValueError("Must specify a model directory in `run_config`.")
    if run_config is None and hparams is not None:
        raise ValueError("hparams need run_config: a function of a folder takes nothing else")
    experiment = (
        experiment_fn(output_dir) if run_config is None else experiment_fn(run_config=run_config, hparams=hparams)
    )
    if not isinstance(experiment, Experiment):
        raise TypeError(f"Experiment builder did not return an Experiment instance, got {type(experiment)} instead.")
    config = experiment._core.config
    alone = not config.cluster_spec and config.task_type != EVALUATOR
    chosen = schedule or ("train_and_evaluate" if alone else _SCHEDULES.get(config.task_type, ""))
    if chosen.startswith("_") or not callable(getattr(experiment, chosen, None)):
        there = sorted(
            name for name in vars(Experiment) if not name.startswith("_") and callable(getattr(experiment, name))
        )
        raise ValueError(f"schedule: expected one of {there}, received {chosen!r}")
    return getattr(experiment, chosen)()
