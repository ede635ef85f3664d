"""Training loops of `tf.contrib.training` and `tf.contrib.slim`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import errors, logging
from thalweg._src.base.config import RunMetadata, RunOptions
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.comparison import equal, greater_equal
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.math import floormod
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.checkpoint.saver import Saver
from thalweg._src.training.nn.summaries import merge_all
from thalweg._src.training.observe.timeline import Timeline
from thalweg._src.training.scaffold import Scaffold
from thalweg._src.training.session_run_hook import SessionRunHook
from thalweg._src.training.supervisor import Supervisor
from thalweg._src.training.sync_replicas import SyncReplicasOptimizer
from thalweg._src.training.training_session import MonitoredTrainingSession
from thalweg._src.training.variables.assign import report_uninitialized_variables
from thalweg._src.training.variables.global_step import get_or_create_global_step
from thalweg._src.training.variables.variables import global_variables_initializer

_USE_DEFAULT = 0


@export("contrib.training.train")
def train(
    train_op: Any,
    logdir: PathLike | None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: Any = None,
    max_wait_secs: float = 7200,
    run_metadata: Any = None,
) -> Any:
    """Runs an operation in a MonitoredTrainingSession until a hook or the end of the input; returns its last value."""
    if logdir is None and is_chief:
        if save_summaries_steps:
            raise ValueError("logdir cannot be None when save_summaries_steps is not None")
        if save_checkpoint_secs:
            raise ValueError("logdir cannot be None when save_checkpoint_secs is not None")
    value = None
    with MonitoredTrainingSession(
        master=master,
        is_chief=is_chief,
        checkpoint_dir=logdir,
        scaffold=scaffold,
        hooks=hooks,
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
        max_wait_secs=max_wait_secs,
    ) as session:
        while not session.should_stop():
            value = session.run(train_op, run_metadata=run_metadata)
    return value


@export("contrib.slim.learning.train_step")
def train_step(sess: Any, train_op: Any, global_step: TensorLike, train_step_kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Runs one training step; returns the loss, and whether to stop.

    The tensors `should_stop`, `should_log` and `should_trace` in the dictionary control the step; a trace is written to
    `logdir` and to `summary_writer`.
    """
    start = time.time()
    options = metadata = None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise ValueError("logdir must be present in train_step_kwargs when should_trace is present")
        if sess.run(train_step_kwargs["should_trace"]):
            options, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    seconds = time.time() - start
    if metadata is not None:
        _save_trace(train_step_kwargs, metadata, int(step))
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, seconds)
    stops = sess.run(train_step_kwargs["should_stop"]) if "should_stop" in train_step_kwargs else False
    return loss, stops


def _save_trace(train_step_kwargs: dict[str, Any], metadata: Any, step: int) -> None:
    path = os.path.join(train_step_kwargs["logdir"], f"tf_trace-{step}.json")
    logging.info("Writing trace to %s", path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(Timeline(metadata.step_stats).generate_chrome_trace_format())
    if train_step_kwargs.get("summary_writer") is not None:
        train_step_kwargs["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")


@export("contrib.slim.learning.train")
def slim_train(
    train_op: object,
    logdir: PathLike | None,
    train_step_fn: Callable[..., tuple[Any, Any]] = train_step,
    train_step_kwargs: Any = _USE_DEFAULT,
    log_every_n_steps: int = 1,
    graph: Graph | None = None,
    master: str = "",
    is_chief: bool = True,
    global_step: TensorLike | None = None,
    number_of_steps: int | None = None,
    init_op: object = _USE_DEFAULT,
    init_feed_dict: dict[Any, Any] | None = None,
    local_init_op: object = _USE_DEFAULT,
    init_fn: Callable[[Any], Any] | None = None,
    ready_op: object = _USE_DEFAULT,
    summary_op: object = _USE_DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = _USE_DEFAULT,
    startup_delay_steps: int = 0,
    saver: object = None,
    save_interval_secs: float = 600,
    sync_optimizer: object = None,
    session_config: Any = None,
    session_wrapper: Callable[[Any], Any] | None = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Calls a step function under a Supervisor until it returns a stop or the input ends; returns the last loss.

    Args:
        logdir: Folder for event files and checkpoints; None writes none.
        train_step_fn: Function `(session, train_op, global_step, train_step_kwargs)` that takes one step.
        log_every_n_steps: Steps between log messages.
        global_step: The global step; by default found or made.
        number_of_steps: Global step to stop at; None sets no limit.
        startup_delay_steps: Global steps that a worker other than the chief waits for.
        save_interval_secs: Seconds between checkpoints.
        sync_optimizer: A `SyncReplicasOptimizer` that made the training operation, a list of them, or None.
        session_wrapper: Function that wraps the session, for instance for a debugger.
        trace_every_n_steps: Steps between traces; None writes none.
        ignore_live_threads: Whether threads that do not stop are ignored; otherwise they are an error.
    """
    _check_slim_arguments(train_op, logdir, summary_op, saver, trace_every_n_steps, sync_optimizer, number_of_steps)
    graph = graph or get_default_graph()
    with graph.as_default():
        step = get_or_create_global_step() if global_step is None else global_step
        saver = saver or Saver()
        with name_scope("init_ops"):
            init_op = global_variables_initializer() if init_op is _USE_DEFAULT else init_op
            ready_op = report_uninitialized_variables() if ready_op is _USE_DEFAULT else ready_op
            local_init_op = Scaffold.default_local_init_op() if local_init_op is _USE_DEFAULT else local_init_op
            sync = _Synchronization(sync_optimizer, is_chief, local_init_op)
        if train_step_kwargs is _USE_DEFAULT:
            trace = trace_every_n_steps if is_chief else None
            train_step_kwargs = _default_kwargs(step, number_of_steps, log_every_n_steps, trace, logdir)
        supervisor = Supervisor(
            graph=graph,
            is_chief=is_chief,
            logdir=logdir,
            init_op=init_op,
            init_feed_dict=init_feed_dict,
            local_init_op=sync.local_init_op,
            ready_for_local_init_op=sync.ready_for_local_init_op,
            ready_op=ready_op,
            summary_op=merge_all() if summary_op is _USE_DEFAULT else summary_op,
            summary_writer=summary_writer,
            global_step=step,
            saver=saver,
            save_summaries_secs=save_summaries_secs,
            save_model_secs=save_interval_secs,
            init_fn=init_fn,
        )
    if summary_writer is not None:
        train_step_kwargs["summary_writer"] = supervisor.summary_writer
    delay = min(startup_delay_steps, number_of_steps or sys.maxsize) if not is_chief else 0
    loop = _SlimLoop(supervisor, delay, session_wrapper, ignore_live_threads, sync)
    while True:
        try:
            with supervisor.managed_session(master, start_standard_services=False, config=session_config) as session:
                loop.train(session, lambda sess: train_step_fn(sess, train_op, step, train_step_kwargs))
            return loop.loss
        except errors.AbortedError as error:
            logging.info("training starts anew from the last checkpoint: %s", error)


def _check_slim_arguments(
    train_op: object,
    logdir: object,
    summary_op: object,
    saver: object,
    trace: object,
    sync_optimizer: object,
    number_of_steps: Any,
) -> None:
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None:
        needs_logdir = {
            "summary_op": summary_op is not _USE_DEFAULT and summary_op is not None,
            "saver": saver is not None,
            "trace_every_n_steps": trace is not None,
        }
        for name, is_set in needs_logdir.items():
            if is_set:
                raise ValueError(f"Cannot provide {name} because logdir=None")
    for optimizer in _as_list(sync_optimizer):
        if not isinstance(optimizer, SyncReplicasOptimizer):
            raise ValueError("`sync_optimizer` must be a tf.train.SyncReplicasOptimizer.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")


def _default_kwargs(step: object, number_of_steps: object, log_every: int, trace_every: int | None, logdir: Any) -> Any:
    """Returns the arguments of the default step function: when to stop, to log, and to trace."""
    with name_scope("train_step"):
        chosen = {"should_stop": greater_equal(step, number_of_steps) if number_of_steps else constant(False)}
        if log_every > 0:
            chosen["should_log"] = equal(floormod(step, log_every), 0)
        if trace_every is not None:
            chosen["should_trace"] = equal(floormod(step, trace_every), 0)
            chosen["logdir"] = logdir
    return chosen


def _as_list(values: object) -> list[Any]:
    if values is None:
        return []
    return list(values) if isinstance(values, list | tuple) else [values]


class _Synchronization:
    """What a supervisor runs for synchronous optimizers, if there are any."""

    def __init__(self, optimizers: Any, is_chief: bool, local_init_op: Any) -> None:
        optimizers = _as_list(optimizers)
        starts = [o.chief_init_op if is_chief else o.local_step_init_op for o in optimizers]
        self.local_init_op = group(local_init_op, *starts) if starts else local_init_op
        self.ready_for_local_init_op = optimizers[0].ready_for_local_init_op if optimizers else Supervisor.USE_DEFAULT
        self._tokens = [o.get_init_tokens_op() for o in optimizers if is_chief]
        self._runners = [o.get_chief_queue_runner() for o in optimizers if is_chief]

    def start(self, supervisor: Supervisor, session: Any) -> list[Any]:
        """Starts the rounds and the threads of the chief."""
        session.run(self._tokens)
        return supervisor.start_queue_runners(session, self._runners) if self._runners else []


class _SlimLoop:
    """The training loop over one session after another; keeps the last loss."""

    def __init__(
        self, supervisor: Supervisor, delay: int, wrap: Any, ignore_live_threads: bool, sync: _Synchronization
    ) -> None:
        self._sync = sync
        self._supervisor = supervisor
        self._delay = delay
        self._wrap = wrap
        self._ignore_live_threads = ignore_live_threads
        self.loss: Any = None

    def train(self, session: Any, step: Callable[[Any], tuple[Any, Any]]) -> None:
        sv = self._supervisor
        session = session if self._wrap is None else self._wrap(session)
        saves = sv.is_chief and sv.save_path is not None
        if saves:
            sv.start_standard_services(session)
        while self._delay and session.run(sv.global_step) < self._delay:
            time.sleep(1)
        threads = [*sv.start_queue_runners(session), *self._sync.start(sv, session)]
        try:
            while not sv.should_stop():
                self.loss, stops = step(session)
                if stops:
                    sv.request_stop()
        except errors.OutOfRangeError as error:
            logging.info("the input has ended: %s", error)
        if saves:
            sv.saver.save(session, sv.save_path, global_step=sv.global_step)
            sv.stop(threads, close_summary_writer=True, ignore_live_threads=self._ignore_live_threads)
