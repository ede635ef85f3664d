"""Training of an Estimator: its graph, its hooks, and the loop of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import logging
from thalweg._src.estimator import replicas
from thalweg._src.estimator.calls import features_and_labels
from thalweg._src.estimator.estimator_like import EstimatorLike
from thalweg._src.estimator.run_config import RunConfig
from thalweg._src.estimator.spec import EstimatorSpec
from thalweg._src.estimator.warm_starts import start_from
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.scopes import GraphKeys, add_to_collection, device, get_collection
from thalweg._src.graph.seeds import set_random_seed
from thalweg._src.training.checkpoint.saver import Saver
from thalweg._src.training.checkpoint_hook import CheckpointSaverHook, CheckpointSaverListener
from thalweg._src.training.mode_keys import ModeKeys
from thalweg._src.training.nn.summaries import scalar
from thalweg._src.training.report_hooks import LoggingTensorHook
from thalweg._src.training.session_run_hook import SessionRunHook
from thalweg._src.training.step_hooks import StopAtStepHook
from thalweg._src.training.training_session import MonitoredTrainingSession
from thalweg._src.training.value_hooks import NanTensorHook
from thalweg._src.training.variables.global_step import global_step_read


def train(
    estimator: EstimatorLike,
    input_fn: Callable[..., Any],
    hooks: list[SessionRunHook],
    steps: int | None,
    max_steps: int | None,
    saving_listeners: Sequence[CheckpointSaverListener] | None,
) -> None:
    """Trains a model; nothing is done if a checkpoint has the last step already."""
    if steps is not None and max_steps is not None:
        raise ValueError("Can not provide both steps and max_steps.")
    for name, count in (("steps", steps), ("max_steps", max_steps)):
        if count is not None and count <= 0:
            raise ValueError(f"Must specify {name} > 0, given: {count}")
    listeners = _checked_listeners(saving_listeners)
    if max_steps is not None and estimator._saved_step(estimator.latest_checkpoint()) >= max_steps:
        logging.info("Skipping training since max_steps has already saved.")
        return
    if steps is not None or max_steps is not None:
        hooks.append(StopAtStepHook(steps, max_steps))
    with Graph().as_default() as graph, device(estimator._device_fn):
        set_random_seed(estimator._config.tf_random_seed)
        strategy = estimator._config.train_distribute
        if strategy is None:
            estimator._create_and_assert_global_step(graph)
            features, labels, input_hooks = features_and_labels(estimator._call_input_fn(input_fn, ModeKeys.TRAIN))
            spec = estimator._call_model_fn(features, labels, ModeKeys.TRAIN, estimator.config)
        else:
            spec, input_hooks = replicas.training_spec(estimator, input_fn, strategy)
        loss = _run(estimator, spec, [*input_hooks, *hooks], listeners)
    logging.info("Loss for final step: %s.", loss)


def _checked_listeners(listeners: Sequence[CheckpointSaverListener] | None) -> list[CheckpointSaverListener]:
    for listener in listeners or ():
        if not isinstance(listener, CheckpointSaverListener):
            raise TypeError(f"saving_listeners must be a list of CheckpointSaverListener, given: {listener!r}")
    return list(listeners or ())


def _run(
    estimator: EstimatorLike, spec: EstimatorSpec, hooks: list[SessionRunHook], listeners: list[CheckpointSaverListener]
) -> Any:
    """Runs steps until a hook stops them, and returns the loss of the last one."""
    config = estimator._config
    if estimator._warm_start_settings is not None:
        start_from(estimator._warm_start_settings)
    if not any(summary.op.name == "loss" for summary in get_collection(GraphKeys.SUMMARIES)):
        scalar("loss", spec.loss)
    add_to_collection(GraphKeys.LOSSES, spec.loss)
    if spec.scaffold.saver is None and not get_collection(GraphKeys.SAVERS):
        add_to_collection(GraphKeys.SAVERS, _saver(config))
    hooks = [*hooks, NanTensorHook(spec.loss)]
    if config.log_step_count_steps is not None:
        watched = {"loss": spec.loss, "step": global_step_read()}
        hooks.append(LoggingTensorHook(watched, every_n_iter=config.log_step_count_steps))
    hooks += spec.training_hooks
    chief_hooks = [*_checkpoint_hooks(estimator, spec, hooks, listeners), *spec.training_chief_hooks]
    loss = None
    with MonitoredTrainingSession(
        master=config.master,
        is_chief=config.is_chief,
        checkpoint_dir=estimator.model_dir,
        scaffold=spec.scaffold,
        hooks=hooks,
        chief_only_hooks=chief_hooks,
        save_checkpoint_secs=0,  # a hook among those of the chief saves
        save_summaries_steps=config.save_summary_steps,
        config=estimator._session_config,
        max_wait_secs=config.session_creation_timeout_secs,
        log_step_count_steps=config.log_step_count_steps,
    ) as session:
        while not session.should_stop():
            _, loss = session.run([spec.train_op, spec.loss])
    if loss is None:
        logging.warning("training made no steps: is the input empty?")
    return loss


def _saver(config: RunConfig) -> Saver:
    return Saver(
        sharded=True,
        max_to_keep=config.keep_checkpoint_max,
        keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
        defer_build=True,
        save_relative_paths=True,
    )


def _checkpoint_hooks(
    estimator: EstimatorLike, spec: EstimatorSpec, hooks: list[SessionRunHook], listeners: list[CheckpointSaverListener]
) -> list[SessionRunHook]:
    """Returns the hook that saves, unless the user has given one; the listeners are added to either."""
    config = estimator._config
    added: list[SessionRunHook] = []
    savers = [hook for hook in (*hooks, *spec.training_chief_hooks) if isinstance(hook, CheckpointSaverHook)]
    if not savers and (config.save_checkpoints_secs or config.save_checkpoints_steps):
        hook = CheckpointSaverHook(
            estimator.model_dir,
            save_secs=config.save_checkpoints_secs,
            save_steps=config.save_checkpoints_steps,
            scaffold=spec.scaffold,
        )
        added, savers = [hook], [hook]
    if listeners:
        if not savers:
            raise ValueError(
                "saving_listeners need checkpoints: set save_checkpoints_steps or save_checkpoints_secs of the "
                "RunConfig, or give a CheckpointSaverHook"
            )
        savers[0]._listeners.extend(listeners)
    return added
