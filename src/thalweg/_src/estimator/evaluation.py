"""Evaluation of an Estimator: its graph, its loop over batches, and what is written of its results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, logging
from thalweg._src.estimator import replicas
from thalweg._src.estimator.calls import features_and_labels
from thalweg._src.estimator.estimator_like import EstimatorLike
from thalweg._src.estimator.spec import LOSS_KEY, EstimatorSpec
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.scopes import GraphKeys, control_dependencies, device
from thalweg._src.graph.seeds import set_random_seed
from thalweg._src.training.mode_keys import ModeKeys
from thalweg._src.training.monitored_session import MonitoredSession
from thalweg._src.training.nn.metrics.means import mean
from thalweg._src.training.observe.file_writer import FileWriterCache
from thalweg._src.training.session_creators import ChiefSessionCreator
from thalweg._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from thalweg._src.training.value_hooks import FinalOpsHook
from thalweg._src.training.variables.assign import assign_add
from thalweg._src.training.variables.global_step import get_global_step
from thalweg._src.training.variables.slots import filled_with
from thalweg._src.training.variables.variable_scope import get_variable

_CHECKPOINT_KEY = "checkpoint_path"


class _StopAfterBatches(SessionRunHook):
    """Counts batches, and stops after a number of them."""

    def __init__(self, count: object, last: int | None) -> None:
        self._count, self._last = count, last
        self._every = 1 if last is None or last <= 10 else max(1, last // 10)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._count)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        done = int(run_values.results)
        if self._last is None:
            logging.info("Evaluation [%d]", done)
            return
        if done % self._every == 0 or done == self._last:
            logging.info("Evaluation [%d/%d]", done, self._last)
        if done >= self._last:
            run_context.request_stop()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The graph of an evaluation.

    update: the operation that adds a batch to all metrics and counts it
    count: the number of batches, after the update
    values: the metrics by name, and the global step
    """

    spec: EstimatorSpec
    hooks: list[SessionRunHook]
    update: Operation
    count: Any
    values: dict[str, Any]

    def run(self, steps: int | None, hooks: list[SessionRunHook], creator: Any) -> dict[str, Any]:
        """Returns the values after all batches, in a session of a creator."""
        final = FinalOpsHook(self.values)
        with MonitoredSession(creator, [*self.hooks, _StopAfterBatches(self.count, steps), *hooks, final]) as session:
            while not session.should_stop():
                session.run(self.update)
        return dict(final.final_ops_values)


def build(estimator: EstimatorLike, input_fn: Callable[..., Any]) -> Evaluation:
    """Adds an evaluation of a model to the default graph."""
    set_random_seed(estimator._config.tf_random_seed)
    strategy = estimator._config.eval_distribute
    if strategy is None:
        estimator._create_and_assert_global_step(None)
        features, labels, hooks = features_and_labels(estimator._call_input_fn(input_fn, ModeKeys.EVAL))
        spec = estimator._call_model_fn(features, labels, ModeKeys.EVAL, estimator.config)
        metrics = _metrics_with_loss(spec)
    else:
        spec, metrics, hooks = replicas.evaluation_spec(estimator, input_fn, strategy, _metrics_with_loss)
    counter = get_variable(
        "eval_step",
        shape=[],
        dtype=dtypes.int64,
        initializer=filled_with(0),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )
    values = {name: value for name, (value, _) in metrics.items()}
    if GraphKeys.GLOBAL_STEP in values:
        raise ValueError('Metric with name "global_step" is not allowed, because Estimator already defines it')
    values[GraphKeys.GLOBAL_STEP] = get_global_step()
    with control_dependencies([getattr(update, "op", update) for _, update in metrics.values()]):
        counted = assign_add(counter, 1)
    with control_dependencies([counted]):
        count = identity(counter.read_value())
    return Evaluation(spec, [*hooks, *spec.evaluation_hooks], group(count), count, values)


def _metrics_with_loss(spec: EstimatorSpec) -> replicas.Metrics:
    """Returns the metrics of a model, with the mean of its loss over all batches."""
    if LOSS_KEY in spec.eval_metric_ops:
        raise ValueError(f'Metric with name "{LOSS_KEY}" is not allowed, because Estimator already defines it')
    return {**spec.eval_metric_ops, LOSS_KEY: mean(spec.loss)}


def evaluate(
    estimator: EstimatorLike,
    input_fn: Callable[..., Any],
    steps: int | None,
    hooks: list[SessionRunHook],
    checkpoint_path: str | None,
    name: str | None,
) -> dict[str, Any]:
    """Returns the metrics of a checkpoint, by default the newest one, and writes them as summaries."""
    if steps is not None and steps <= 0:
        raise ValueError(f"Must specify steps > 0, given: {steps}")
    path = checkpoint_path or estimator.latest_checkpoint()
    if path is None:
        logging.info("Could not find trained model in model_dir: %s, evaluating it initialized.", estimator.model_dir)
    with Graph().as_default(), device(estimator._device_fn):
        graph = build(estimator, input_fn)
        creator = ChiefSessionCreator(
            scaffold=graph.spec.scaffold,
            master=estimator._config.evaluation_master,
            config=estimator._session_config,
            checkpoint_filename_with_path=path,
        )
        logging.info("Starting evaluation at %s", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        values = graph.run(steps, hooks, creator)
        logging.info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime()))
        write_values(values, estimator.eval_dir(name), path)
    return values


def write_values(values: Mapping[str, Any], folder: str, checkpoint_path: str | None) -> None:
    """Writes the results of an evaluation to an event file, and logs them."""
    from tensorboard.compat.proto.summary_pb2 import Summary

    step = int(values[GraphKeys.GLOBAL_STEP])
    texts = ", ".join(f"{key} = {value}" for key, value in sorted(values.items()) if not isinstance(value, bytes))
    logging.info("Saving dict for global step %d: %s", step, texts)
    message = Summary()
    for key, value in values.items():
        if key != GraphKeys.GLOBAL_STEP and value is not None:
            _add_value(message, key, value)
    writer = FileWriterCache.get(folder)
    writer.add_summary(message, step)
    if checkpoint_path:
        logging.info("Saving '%s' summary for global step %d: %s", _CHECKPOINT_KEY, step, checkpoint_path)
        path = Summary()
        _add_tensor(path, f"{_CHECKPOINT_KEY}", np.array(checkpoint_path.encode(), object), "text")
        writer.add_summary(path, step)
    writer.flush()


def _add_value(message: Any, key: str, value: Any) -> None:
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.summary_pb2 import Summary

    if isinstance(value, bytes):
        try:
            summary = Summary.FromString(value)
        except DecodeError:
            logging.warning("Skipping summary for %s: the string is not a serialized summary", key)
            return
        for index, summary_value in enumerate(summary.value):
            summary_value.tag = f"{key}/{index}"
        message.value.extend(summary.value)
    elif np.ndim(value) == 0 and np.issubdtype(np.asarray(value).dtype, np.number):
        message.value.add(tag=key, simple_value=float(value))
    elif isinstance(value, np.ndarray):
        _add_tensor(message, key, value, "")
    else:
        logging.warning("Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int.", key)


def _add_tensor(message: Any, tag: str, value: object, plugin: str) -> None:
    from tensorboard.util.tensor_util import make_tensor_proto

    added = message.value.add(tag=tag, tensor=make_tensor_proto(value))
    if plugin:
        added.metadata.plugin_data.plugin_name = plugin
