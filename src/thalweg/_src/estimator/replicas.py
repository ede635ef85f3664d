"""Estimators with a strategy: the model function is called in each replica, and its results are combined."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from thalweg._src.estimator.calls import IteratorInitializerHook, pair
from thalweg._src.estimator.estimator_like import EstimatorLike
from thalweg._src.estimator.spec import EstimatorSpec
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.ops.control import group
from thalweg._src.training.distribute.current import get_loss_reduction, get_replica_context
from thalweg._src.training.distribute.strategy import Strategy
from thalweg._src.training.distribute.values import local_values
from thalweg._src.training.mode_keys import ModeKeys
from thalweg._src.training.session_run_hook import SessionRunHook

Metrics = dict[str, tuple[Any, Any]]


@contextlib.contextmanager
def _mean_losses(strategy: Strategy) -> Iterator[None]:
    """Context manager: mean losses of replicas are averaged, and other losses summed, as Estimators train."""
    before, strategy._scale_loss_for_estimator = strategy._scale_loss_for_estimator, True
    try:
        yield
    finally:
        strategy._scale_loss_for_estimator = before


def _iterator(estimator: EstimatorLike, input_fn: Callable[..., Any], mode: str, strategy: Strategy) -> Any:
    def call(context: Any) -> Any:
        return estimator._call_input_fn(input_fn, mode, input_context=context)

    return strategy.make_input_fn_iterator(call)


def _called(
    estimator: EstimatorLike, mode: str, iterator: Any, strategy: Strategy, chosen: Callable[..., Any]
) -> tuple[Any, Any]:
    """Returns the first replica's spec, and what `chosen` takes from the spec of each replica."""
    first: list[EstimatorSpec] = []

    def call(element: object) -> Any:
        spec = estimator._call_model_fn(*pair(element), mode, estimator.config)
        context = get_replica_context()
        if context is not None and not first:
            first.append(spec)
        return chosen(spec)

    values = strategy.extended.call_for_each_replica(call, args=(iterator.get_next(),))
    return first[0], values


def training_spec(
    estimator: EstimatorLike, input_fn: Callable[..., Any], strategy: Strategy
) -> tuple[EstimatorSpec, list[SessionRunHook]]:
    """Returns the spec of training in all replicas, and the hooks of the input."""
    with _mean_losses(strategy), strategy.scope():
        iterator = _iterator(estimator, input_fn, ModeKeys.TRAIN, strategy)
        estimator._create_and_assert_global_step(get_default_graph())
        spec, (losses, updates) = _called(
            estimator, ModeKeys.TRAIN, iterator, strategy, lambda spec: (spec.loss, spec.train_op)
        )
        loss = strategy.reduce(get_loss_reduction(), losses)
        update = group(*local_values(updates))
    return spec._replace(loss=loss, train_op=update), [IteratorInitializerHook(iterator)]


def evaluation_spec(
    estimator: EstimatorLike,
    input_fn: Callable[..., Any],
    strategy: Strategy,
    metrics_of: Callable[[EstimatorSpec], Metrics],
) -> tuple[EstimatorSpec, Metrics, list[SessionRunHook]]:
    """Returns the spec of the first replica, the metrics over all replicas, and the hooks of the input."""
    with strategy.scope():
        iterator = _iterator(estimator, input_fn, ModeKeys.EVAL, strategy)
        estimator._create_and_assert_global_step(get_default_graph())
        spec, metrics = _called(estimator, ModeKeys.EVAL, iterator, strategy, metrics_of)
        combined = {
            name: (local_values(value)[0], group(*local_values(update))) for name, (value, update) in metrics.items()
        }
    return spec, combined, [IteratorInitializerHook(iterator)]
