"""Early stopping: hooks that end training at all tasks when the results of evaluations say so."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes, logging
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.base.signatures import parameters_of, variant
from thalweg._src.estimator.estimator import Estimator
from thalweg._src.estimator.event_values import read_eval_metrics
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from thalweg._src.training.step_hooks import required_global_step
from thalweg._src.training.timers import SecondOrStepTimer
from thalweg._src.training.variables.assign import assign
from thalweg._src.training.variables.initializers import Constant
from thalweg._src.training.variables.variable_scope import AUTO_REUSE, get_variable, variable_scope


def _stop_variable() -> Any:
    """Returns the variable by which the chief tells all workers to stop."""
    with variable_scope("signal_early_stopping", reuse=AUTO_REUSE):
        return get_variable(
            "STOP",
            shape=[],
            dtype=dtypes.bool,
            initializer=Constant(False),
            collections=[GraphKeys.GLOBAL_VARIABLES],
            trainable=False,
        )


class _StopOnPredicateHook(SessionRunHook):
    """Calls a function from time to time, and stops all tasks when it returns True."""

    def __init__(self, should_stop_fn: Callable[[], bool], secs: float | None, steps: int | None) -> None:
        self._should_stop_fn = should_stop_fn
        self._timer = SecondOrStepTimer(every_secs=secs, every_steps=steps)

    def begin(self) -> None:
        self._global_step = required_global_step("early stopping")
        self._stop = _stop_variable()
        self._set_stop = assign(self._stop, True)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = run_values.results
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._should_stop_fn():
                logging.info("Requesting early stopping at global step %d", step)
                run_context.session.run(self._set_stop)
                run_context.request_stop()


class _CheckForStoppingHook(SessionRunHook):
    """Stops a worker when the chief has said so."""

    def begin(self) -> None:
        self._stop = _stop_variable()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._stop)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if run_values.results:
            logging.info("Early stopping requested, suspending run.")
            run_context.request_stop()


@export("estimator.experimental.make_early_stopping_hook", "contrib.estimator.make_early_stopping_hook")
def make_early_stopping_hook(
    estimator: Estimator,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Returns a hook that ends training at all tasks when a function, called by the chief alone, returns True."""
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
    if (run_every_secs is None) == (run_every_steps is None):
        raise ValueError(
            "exactly one of run_every_secs and run_every_steps must be given, the other one as None; received "
            f"{run_every_secs} and {run_every_steps}"
        )
    if estimator.config.is_chief:
        return _StopOnPredicateHook(should_stop_fn, run_every_secs, run_every_steps)
    return _CheckForStoppingHook()


def _hook(
    decide: Callable[[dict[int, float]], bool],
    estimator: Estimator,
    metric_name: str,
    eval_dir: PathLike | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Returns a hook that stops when a function of a metric's values by step returns True."""
    require_members("estimator", estimator, "a tf.estimator.Estimator", "eval_dir")
    folder = estimator.eval_dir() if eval_dir is None else str(eval_dir)

    def should_stop() -> bool:
        values: dict[int, float] = {}
        for step, metrics in read_eval_metrics(folder).items():
            if step >= min_steps:
                if metric_name not in metrics:
                    raise ValueError(
                        f"no metric {metric_name!r} at step {step} in {folder}; there is {sorted(metrics)}"
                    )
                values[step] = metrics[metric_name]
        return decide(values)

    return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)


def _stop_beyond(
    is_beyond: Callable[[float, float], bool],
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: PathLike | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Returns a hook that stops when a metric is beyond a threshold."""

    def decide(values: dict[int, float]) -> bool:
        for step, value in values.items():
            if is_beyond(value, threshold):
                logging.info(
                    "At step %s, metric %r has value %s, beyond the threshold %s.", step, metric_name, value, threshold
                )
                return True
        return False

    return _hook(decide, estimator, metric_name, eval_dir, min_steps, run_every_secs, run_every_steps)


@export("estimator.experimental.stop_if_higher_hook", "contrib.estimator.stop_if_higher_hook")
@variant(_stop_beyond, operator.gt)
def stop_if_higher_hook() -> None:
    """Returns a hook that stops when a metric is higher than a threshold.

    Args:
        threshold: The value that the metric must pass.
    """


@export("estimator.experimental.stop_if_lower_hook", "contrib.estimator.stop_if_lower_hook")
@variant(_stop_beyond, operator.lt)
def stop_if_lower_hook() -> None:
    """Returns a hook that stops when a metric is lower than a threshold.

    Args:
        threshold: The value that the metric must pass.
    """


def _stop_unimproved(
    is_better: Callable[[float, float], bool], patience: int, metric_name: str, **arguments: Any
) -> SessionRunHook:
    """Returns a hook that stops when a metric has not become better for a number of steps."""

    def decide(values: dict[int, float]) -> bool:
        best, best_step = None, 0
        for step, value in values.items():
            if best is None or is_better(value, best):
                best, best_step = value, step
            if step - best_step >= patience:
                logging.info(
                    "No better %r for %d steps, with value %s at step %s.", metric_name, patience, best, best_step
                )
                return True
        return False

    return _hook(decide, metric_name=metric_name, **arguments)


@export("estimator.experimental.stop_if_no_increase_hook", "contrib.estimator.stop_if_no_increase_hook")
@parameters_of(_hook, without=["decide"], before="eval_dir")
def stop_if_no_increase_hook(max_steps_without_increase: int, **arguments: Any) -> SessionRunHook:
    """Returns a hook that stops when a metric has not increased for a number of steps."""
    return _stop_unimproved(operator.gt, max_steps_without_increase, **arguments)


@export("estimator.experimental.stop_if_no_decrease_hook", "contrib.estimator.stop_if_no_decrease_hook")
@parameters_of(_hook, without=["decide"], before="eval_dir")
def stop_if_no_decrease_hook(max_steps_without_decrease: int, **arguments: Any) -> SessionRunHook:
    """Returns a hook that stops when a metric has not decreased for a number of steps."""
    return _stop_unimproved(operator.lt, max_steps_without_decrease, **arguments)
