"""Evaluation of checkpoints, once or repeatedly, for `tf.contrib.training` and `tf.contrib.slim`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes, logging
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.nest import flatten
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.scopes import GraphKeys, control_dependencies
from thalweg._src.training.checkpoint.saver import Saver
from thalweg._src.training.checkpoint.state import checkpoints_iterator
from thalweg._src.training.monitored_session import MonitoredSession
from thalweg._src.training.nn.summaries import merge_all
from thalweg._src.training.observe.file_writer import FileWriterCache
from thalweg._src.training.scaffold import Scaffold
from thalweg._src.training.session_creators import ChiefSessionCreator
from thalweg._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from thalweg._src.training.value_hooks import FinalOpsHook
from thalweg._src.training.variables.assign import assign_add
from thalweg._src.training.variables.global_step import get_or_create_global_step
from thalweg._src.training.variables.slots import filled_with
from thalweg._src.training.variables.variable_scope import get_variable

_USE_DEFAULT = 0


@export("contrib.training.get_or_create_eval_step")
def get_or_create_eval_step() -> Any:
    """Returns the counter of evaluated batches, a local variable, and creates it at first use."""
    eval_steps = get_default_graph().get_collection(GraphKeys.EVAL_STEP)
    if len(eval_steps) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if eval_steps:
        return eval_steps[0]
    return get_variable(
        "eval_step",
        shape=[],
        dtype=dtypes.int64,
        initializer=filled_with(0),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )


@export("contrib.training.StopAfterNEvalsHook")
class StopAfterNEvalsHook(SessionRunHook):
    """Stops after a number of batches; None evaluates until the end of the input."""

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals = num_evals
        self._log_progress = log_progress
        self._completed: Any = None

    def _set_evals_completed_tensor(self, updated_eval_step: object) -> None:
        self._completed = updated_eval_step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs({"evals_completed": self._completed})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        done = run_values.results["evals_completed"]
        if self._log_progress:
            logging.info("Evaluation [%d/%s]", done, self._num_evals or "-")
        if self._num_evals is not None and done >= self._num_evals:
            run_context.request_stop()


@export("contrib.training.SummaryAtEndHook")
class SummaryAtEndHook(SessionRunHook):
    """Writes the summaries once, when all batches have been evaluated.

    Args:
        summary_op: Operation that returns a serialized summary.
    """

    def __init__(
        self,
        log_dir: Any = None,
        summary_writer: Any = None,
        summary_op: Any = None,
        feed_dict: dict[Any, Any] | None = None,
    ) -> None:
        if summary_writer is None and log_dir is None:
            raise ValueError("log_dir or summary_writer should be provided.")
        self._log_dir = log_dir
        self._summary_writer = summary_writer
        self._summary_op = summary_op
        self._feed_dict = feed_dict

    def begin(self) -> None:
        if self._summary_op is None:
            self._summary_op = merge_all()
        if self._summary_writer is None:
            self._summary_writer = FileWriterCache.get(self._log_dir)
        self._global_step = get_or_create_global_step()

    def end(self, session: Any) -> None:
        if self._summary_op is not None:
            summary, step = session.run([self._summary_op, self._global_step], self._feed_dict)
            self._summary_writer.add_summary(summary, step)
        self._summary_writer.flush()


class _Evaluation:
    """The arguments of an evaluation, shared by all checkpoints."""

    def __init__(self, scaffold: Any, eval_ops: Any, feed_dict: Any, hooks: Any, final_ops: Any, final_feeds: Any):
        step = get_or_create_eval_step()
        self._hooks = list(hooks or ())
        self._final = FinalOpsHook(final_ops, final_feeds)
        self._scaffold = scaffold
        self._feed_dict = feed_dict
        self._fetches: Any = None
        if eval_ops is None:
            return
        counted = assign_add(step, 1)
        self._fetches = {"eval_ops": eval_ops, "update_eval_step": counted}
        with control_dependencies([getattr(op, "op", op) for op in flatten(eval_ops)] + [counted]):
            completed = identity(step.read_value())
        for hook in self._hooks:
            if isinstance(hook, StopAfterNEvalsHook):
                hook._set_evals_completed_tensor(completed)

    def run(self, checkpoint_path: Any, master: str, config: Any) -> Any:
        creator = ChiefSessionCreator(
            scaffold=self._scaffold, checkpoint_filename_with_path=checkpoint_path, master=master, config=config
        )
        with MonitoredSession(creator, [*self._hooks, self._final]) as session:
            while self._fetches is not None and not session.should_stop():
                session.run(self._fetches, self._feed_dict)
        return self._final.final_ops_values


@export("contrib.training.evaluate_once")
def evaluate_once(
    checkpoint_path: PathLike,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: object = None,
    feed_dict: dict[Any, Any] | None = None,
    final_ops: object = None,
    final_ops_feed_dict: dict[Any, Any] | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    config: object = None,
) -> Any:
    """Restores a checkpoint, runs operations until a hook or the end of the input, and returns the final values."""
    evaluation = _Evaluation(scaffold, eval_ops, feed_dict, hooks, final_ops, final_ops_feed_dict)
    return evaluation.run(checkpoint_path, master, config)


@export("contrib.training.evaluate_repeatedly")
def evaluate_repeatedly(
    checkpoint_dir: PathLike,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: object = None,
    feed_dict: dict[Any, Any] | None = None,
    final_ops: object = None,
    final_ops_feed_dict: dict[Any, Any] | None = None,
    eval_interval_secs: float = 60,
    hooks: Sequence[SessionRunHook] | None = None,
    config: object = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """Evaluates each new checkpoint, until the maximum number or `timeout` seconds without a new one."""
    evaluation = _Evaluation(scaffold or Scaffold(), eval_ops, feed_dict, hooks, final_ops, final_ops_feed_dict)
    values = None
    if max_number_of_evaluations is not None and max_number_of_evaluations <= 0:
        raise ValueError("`max_number_of_evaluations` must be either None or a positive number.")
    paths = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for number, path in enumerate(paths, 1):
        values = evaluation.run(path, master, config)
        if number == max_number_of_evaluations:
            break
    return values


@export("contrib.slim.evaluation.evaluate_once")
def slim_evaluate_once(
    master: str,
    checkpoint_path: PathLike,
    logdir: PathLike,
    num_evals: int | None = 1,
    initial_op: object = None,
    initial_op_feed_dict: dict[Any, Any] | None = None,
    eval_op: object = None,
    eval_op_feed_dict: dict[Any, Any] | None = None,
    final_op: object = None,
    final_op_feed_dict: dict[Any, Any] | None = None,
    summary_op: object = _USE_DEFAULT,
    summary_op_feed_dict: dict[Any, Any] | None = None,
    variables_to_restore: object = None,
    session_config: object = None,
    hooks: Sequence[SessionRunHook] | None = None,
) -> Any:
    """Evaluates one checkpoint over a number of batches and writes summaries."""
    return evaluate_once(
        checkpoint_path,
        master=master,
        scaffold=_slim_scaffold(initial_op, initial_op_feed_dict, variables_to_restore),
        eval_ops=eval_op,
        feed_dict=eval_op_feed_dict,
        final_ops=final_op,
        final_ops_feed_dict=final_op_feed_dict,
        hooks=_slim_hooks(logdir, num_evals, summary_op, summary_op_feed_dict, hooks),
        config=session_config,
    )


@export("contrib.slim.evaluation.evaluation_loop")
def slim_evaluation_loop(
    master: str,
    checkpoint_dir: PathLike,
    logdir: PathLike,
    num_evals: int | None = 1,
    initial_op: object = None,
    initial_op_feed_dict: dict[Any, Any] | None = None,
    init_fn: Callable[..., Any] | None = None,
    eval_op: object = None,
    eval_op_feed_dict: dict[Any, Any] | None = None,
    final_op: object = None,
    final_op_feed_dict: dict[Any, Any] | None = None,
    summary_op: object = _USE_DEFAULT,
    summary_op_feed_dict: dict[Any, Any] | None = None,
    variables_to_restore: object = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: object = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
) -> Any:
    """Evaluates checkpoints repeatedly and writes summaries."""
    return evaluate_repeatedly(
        checkpoint_dir,
        master=master,
        scaffold=_slim_scaffold(initial_op, initial_op_feed_dict, variables_to_restore, init_fn),
        eval_ops=eval_op,
        feed_dict=eval_op_feed_dict,
        final_ops=final_op,
        final_ops_feed_dict=final_op_feed_dict,
        eval_interval_secs=eval_interval_secs,
        hooks=_slim_hooks(logdir, num_evals, summary_op, summary_op_feed_dict, hooks),
        config=session_config,
        max_number_of_evaluations=max_number_of_evaluations,
        timeout=timeout,
        timeout_fn=timeout_fn,
    )


def _slim_scaffold(initial_op: Any, feeds: Any, variables: object, init_fn: Any = None) -> Scaffold:
    saver = None if variables is None else Saver(variables)
    return Scaffold(init_op=initial_op, init_feed_dict=feeds, init_fn=init_fn, saver=saver)


def _slim_hooks(logdir: Any, num_evals: Any, summary_op: Any, feeds: Any, hooks: Any) -> list[SessionRunHook]:
    summary_op = merge_all() if summary_op is _USE_DEFAULT else summary_op
    result: list[SessionRunHook] = [StopAfterNEvalsHook(num_evals)]
    if summary_op is not None:
        result.append(SummaryAtEndHook(log_dir=logdir, summary_op=summary_op, feed_dict=feeds))
    return result + list(hooks or ())
