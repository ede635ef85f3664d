"""Hooks of Estimators: one evaluates in the process that trains, one stops at a step that is saved."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.estimator import evaluation
from thalweg._src.estimator.calls import check_hooks
from thalweg._src.estimator.estimator import Estimator
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.training.input.coordinator import Coordinator
from thalweg._src.training.scaffold import Scaffold
from thalweg._src.training.session_creators import ChiefSessionCreator
from thalweg._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from thalweg._src.training.step_hooks import StopAtStepHook, required_global_step
from thalweg._src.training.timers import SecondOrStepTimer
from thalweg._src.training.variables.assign import assign
from thalweg._src.training.variables.sessions import SessionLike
from thalweg._src.training.variables.variables import global_variables


@export("estimator.experimental.InMemoryEvaluatorHook", "contrib.estimator.InMemoryEvaluatorHook")
class InMemoryEvaluatorHook(SessionRunHook):
    """Evaluates the model every N steps, and at the start and the end, with the variables of the training session.

    Args:
        steps: Number of batches to evaluate; None goes on until the input ends.
        name: Name of the evaluation, which ends the name of its folder.
        every_n_iter: Number of steps between evaluations.
    """

    def __init__(
        self,
        estimator: Estimator,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        name: str | None = None,
        every_n_iter: int = 100,
    ) -> None:
        if every_n_iter is None or every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if not isinstance(estimator, Estimator):
            raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
        if estimator.config.num_ps_replicas > 0 or estimator.config.num_worker_replicas > 1:
            raise ValueError("InMemoryEvaluator supports only a process that trains alone: use tf.estimator.EvalSpec")
        self._estimator = estimator
        self._input_fn = input_fn
        self._steps = steps
        self._hooks = check_hooks(hooks)
        self._name = name
        self._timer = SecondOrStepTimer(every_steps=every_n_iter)

    def begin(self) -> None:
        self._timer.reset()
        self._iteration = 0
        trained = {variable.op.name: variable for variable in global_variables()}
        self._graph = Graph()
        with self._graph.as_default():
            self._evaluation = evaluation.build(self._estimator, self._input_fn)
            self._feeds: dict[str, Any] = {}
            self._assigns = []
            for variable in global_variables():
                if variable.op.name not in trained:
                    raise ValueError(f"{variable.op.name!r} of the evaluation is not a variable of the training")
                value = placeholder(variable.dtype.base_dtype, variable.get_shape())
                self._feeds[variable.op.name] = value
                self._assigns.append(assign(variable, value).op)
        self._trained = {name: trained[name] for name in self._feeds}

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        if get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
            logging.warning("the training has queue runners; an evaluation in its process may wait for them")
        self._evaluate(session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._iteration += 1
        if self._timer.should_trigger_for_step(self._iteration):
            self._evaluate(run_context.session)

    def end(self, session: SessionLike) -> None:
        self._evaluate(session)

    def _evaluate(self, session: SessionLike) -> None:
        """Copies the variables of a session into one of the evaluation, and runs that."""
        self._timer.update_last_triggered_step(self._iteration)
        values = session.run(self._trained)
        feeds = {self._feeds[name]: value for name, value in values.items()}

        def copy(scaffold: Scaffold, evaluating: Any) -> None:
            evaluating.run(self._assigns, feeds)

        with self._graph.as_default():
            scaffold = Scaffold(init_fn=copy, copy_from_scaffold=self._evaluation.spec.scaffold)
            creator = ChiefSessionCreator(scaffold, config=self._estimator._session_config)
            results = self._evaluation.run(self._steps, self._hooks, creator)
            evaluation.write_values(results, self._estimator.eval_dir(self._name), None)


class _StopAtCheckpointStepHook(SessionRunHook):
    """Stops when the newest checkpoint has a step, so that all tasks stop after the chief has saved it."""

    def __init__(self, estimator: Estimator, last_step: int, wait_after_file_check_secs: float) -> None:
        self._estimator = estimator
        self._last_step = last_step
        self._wait_secs = wait_after_file_check_secs

    def begin(self) -> None:
        self._global_step = required_global_step("make_stop_at_checkpoint_step_hook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if run_values.results + 1 < self._last_step or run_context.session.run(self._global_step) < self._last_step:
            return
        if self._estimator._saved_step(self._estimator.latest_checkpoint()) >= self._last_step:
            run_context.request_stop()
        else:
            time.sleep(self._wait_secs)


@export(
    "estimator.experimental.make_stop_at_checkpoint_step_hook", "contrib.estimator.make_stop_at_checkpoint_step_hook"
)
def make_stop_at_checkpoint_step_hook(
    estimator: Estimator, last_step: int, wait_after_file_check_secs: float = 30
) -> SessionRunHook:
    """Returns a hook that stops at a step: the chief at once, other workers when a checkpoint has it.

    Args:
        last_step: Global step to stop at.
        wait_after_file_check_secs: Seconds between looks for the checkpoint of the last step.
    """
    require_members("estimator", estimator, "a tf.estimator.Estimator", "config", "model_dir")
    if estimator.config.is_chief:
        return StopAtStepHook(last_step=last_step)
    return _StopAtCheckpointStepHook(estimator, last_step, wait_after_file_check_secs)
