"""Prediction of an Estimator: its graph, and a generator over the results of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.errors import OutOfRangeError
from thalweg._src.estimator.calls import features_and_labels
from thalweg._src.estimator.estimator_like import EstimatorLike
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.scopes import GraphKeys, device, get_collection
from thalweg._src.graph.seeds import set_random_seed
from thalweg._src.training.mode_keys import ModeKeys
from thalweg._src.training.monitored_session import MonitoredSession
from thalweg._src.training.session_creators import ChiefSessionCreator
from thalweg._src.training.session_run_hook import SessionRunHook

_ITERATORS = {"IteratorGetNext", "IteratorV2", "OneShotIterator", "Iterator"}


def predict(
    estimator: EstimatorLike,
    input_fn: Callable[..., Any],
    keys: Sequence[str] | None,
    hooks: list[SessionRunHook],
    checkpoint_path: str | None,
    singly: bool,
) -> Iterator[Any]:
    """Yields the predictions of a checkpoint, by default the newest one.

    The graph is the default one during a step alone, so that the caller has its own between two results.
    """
    path = checkpoint_path or estimator.latest_checkpoint()
    if path is None:
        logging.info(
            "Could not find trained model in model_dir: %s, predicting with it initialized.", estimator.model_dir
        )
    graph = Graph()
    with graph.as_default(), device(estimator._device_fn):
        set_random_seed(estimator._config.tf_random_seed)
        estimator._create_and_assert_global_step(graph)
        features, _, input_hooks = features_and_labels(estimator._call_input_fn(input_fn, ModeKeys.PREDICT))
        _warn_if_endless(graph)
        spec = estimator._call_model_fn(features, None, ModeKeys.PREDICT, estimator.config)
        fetches = _chosen(spec.predictions, keys)
        creator = ChiefSessionCreator(
            scaffold=spec.scaffold,
            master=estimator._config.master,
            config=estimator._session_config,
            checkpoint_filename_with_path=path,
        )
        session = MonitoredSession(creator, [*input_hooks, *hooks, *spec.prediction_hooks])
    try:
        while not session.should_stop():
            with graph.as_default():
                values = _step(session, fetches)
            if values is None:
                break
            yield from _examples(values) if singly else (values,)
    except BaseException as error:
        with graph.as_default():
            session.__exit__(type(error), error, error.__traceback__)
        raise
    with graph.as_default():
        session.close()


def _step(session: MonitoredSession, fetches: object) -> Any:
    """Returns the values of a step; None after the end of the input."""
    try:
        return session.run(fetches)
    except (OutOfRangeError, StopIteration):
        return None


def _warn_if_endless(graph: Graph) -> None:
    if any(op.type in _ITERATORS for op in graph.get_operations()) or get_collection(GraphKeys.QUEUE_RUNNERS):
        return
    logging.warning("the input has neither a dataset nor a queue: predict never ends, which is probably a mistake")


def _chosen(predictions: object, keys: Sequence[str] | None) -> Any:
    if not keys:
        return predictions
    if not isinstance(predictions, Mapping):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    chosen = {key: value for key, value in predictions.items() if key in keys}
    if not chosen:
        raise ValueError(f"Expected to run at least one output from {sorted(predictions)}, provided {list(keys)}.")
    return chosen


def _examples(values: Any) -> Iterator[Any]:
    """Yields the predictions of each example of a batch."""
    if not isinstance(values, Mapping):
        yield from values
        return
    sizes = {key: len(value) for key, value in values.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"Batch length of predictions should be same: {sizes}")
    for index in range(next(iter(sizes.values()))):
        yield {key: value[index] for key, value in values.items()}
