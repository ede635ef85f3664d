"""Supervisor: the older API for training, with a plain session and background services."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from thalweg._src.base import logging
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.graphdef import write_graph
from thalweg._src.graph.scopes import GraphKeys, add_to_collection, get_collection
from thalweg._src.training.checkpoint.meta_graph import export_meta_graph
from thalweg._src.training.checkpoint.saver import Saver
from thalweg._src.training.checkpoint_hook import paused_updates
from thalweg._src.training.input.coordinator import Coordinator, LooperThread
from thalweg._src.training.observe.file_writer import FileWriter
from thalweg._src.training.report_hooks import add_status
from thalweg._src.training.scaffold import Scaffold, merged_summaries
from thalweg._src.training.session_manager import SessionManager
from thalweg._src.training.variables.assign import report_uninitialized_variables
from thalweg._src.training.variables.global_step import global_step as value_of_step
from thalweg._src.training.variables.sessions import SessionLike
from thalweg._src.training.variables.variables import global_variables, global_variables_initializer

_VARIABLES = ("Variable", "VariableV2")


@export("train.Supervisor")
class Supervisor:
    """Restores or initializes a model, saves it and its summaries in the background, and stops all threads together.

    Args:
        logdir: Folder for checkpoints and event files; None writes none.
        global_step: The global step; by default found by its name.
        save_model_secs: Seconds between checkpoints; 0 saves none.
        stop_grace_secs: Seconds to wait for threads to stop.
        session_manager: The `SessionManager` to use.
    """

    USE_DEFAULT: ClassVar[Any] = 0

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: object = USE_DEFAULT,
        ready_for_local_init_op: object = USE_DEFAULT,
        is_chief: bool = True,
        init_op: object = USE_DEFAULT,
        init_feed_dict: dict[Any, Any] | None = None,
        local_init_op: object = USE_DEFAULT,
        logdir: PathLike | None = None,
        summary_op: object = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: FileWriter | None = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        self._graph = graph if graph is not None else get_default_graph()
        require_kind("graph", self._graph, Graph, "a Graph or None")
        with self._graph.as_default():
            self._ready_op = _chosen(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
            self._ready_for_local_init_op = _chosen(
                ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None
            )
            self._init_op = _chosen(init_op, GraphKeys.INIT_OP, global_variables_initializer)
            self._init_feed_dict = init_feed_dict
            self._local_init_op = _chosen(local_init_op, GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op)
            self._saver = _chosen(saver, GraphKeys.SAVERS, lambda: Saver() if global_variables() else None)
            self._summary_op = _chosen(summary_op, GraphKeys.SUMMARY_OP, merged_summaries)
            self._global_step = _chosen(global_step, GraphKeys.GLOBAL_STEP, self._default_global_step_tensor)
        self._is_chief = is_chief
        self._coord = Coordinator()
        self._stop_grace_secs = stop_grace_secs
        self._init_fn = init_fn
        self._logdir = os.fspath(logdir) if is_chief and logdir else None
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._save_path = os.path.join(self._logdir, checkpoint_basename) if self._logdir else None
        self._summary_writer: Any = summary_writer if is_chief else None
        if is_chief and summary_writer is Supervisor.USE_DEFAULT:
            self._summary_writer = FileWriter(self._logdir) if self._logdir else None
        self._writer_is_open = self._summary_writer is not None
        self._graph_added_to_summary = False
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        self._require_devices()
        self._graph.finalize()

    def _require_devices(self) -> None:
        """Raises if each replica would have its own copy of a variable."""
        for op in self._graph.get_operations() if not self._is_chief else ():
            if op.type in _VARIABLES and not op.device:
                raise ValueError(f"When using replicas, all Variables must have their device set: {op}")

    def _default_global_step_tensor(self) -> Any:
        try:
            global_step = get_default_graph().get_tensor_by_name("global_step:0")
        except KeyError:
            return None
        if global_step.dtype.base_dtype.is_integer:
            return global_step
        logging.warning("Found 'global_step' is not an int type: %s", global_step.dtype)
        return None

    # -- what it has --------------------------------------------------------------------------------------------------

    is_chief = ReadOnly[bool]("Whether this task initializes and saves the model.")
    session_manager = ReadOnly[SessionManager]("The SessionManager.")
    coord = ReadOnly[Coordinator]("The coordinator of the threads.")
    init_op = ReadOnly[Any]("The operation that initializes the model.")
    init_feed_dict = ReadOnly[dict[Any, Any] | None]("The feed dictionary of `init_op`.")
    ready_op = ReadOnly[Any]("The operation that lists what is not initialized.")
    ready_for_local_init_op = ReadOnly[Any](
        "The operation that lists what must be initialized before the local variables."
    )
    summary_writer = ReadOnly[Any]("The FileWriter of the summaries.")
    summary_op = ReadOnly[Any]("The operation that merges all summaries.")
    save_summaries_secs = ReadOnly[float | None]("The number of seconds between summaries.")
    global_step = ReadOnly[Any]("The global step, or None.")
    saver = ReadOnly[Any]("The Saver of the model.")
    save_model_secs = ReadOnly[float | None]("The number of seconds between checkpoints.")
    save_path = ReadOnly[str | None]("The prefix of the checkpoints.")

    # -- sessions -----------------------------------------------------------------------------------------------------

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: ConfigProto | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:
        """Returns a session that is ready, with services and queue runners started if requested."""
        self._coord.clear_stop()
        if self._summary_writer is not None:
            self._summary_writer.reopen()
            self._writer_is_open = True
        if self._is_chief:
            sess = self._session_manager.prepare_session(
                master,
                init_op=self._init_op,
                saver=self._saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                self.start_standard_services(sess)
        else:
            sess = self._session_manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            self.start_queue_runners(sess)
        return sess

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: ConfigProto | None = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:
        """Yields a session; leaving the block stops the services and threads, and raises their errors."""
        sess = None
        try:
            sess = self.prepare_or_wait_for_session(
                master=master, config=config, start_standard_services=start_standard_services
            )
            yield sess
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                # A thread may still wait for a step, which only closing the session ends.
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if sess is not None:
                    with contextlib.suppress(Exception):
                        sess.close()

    def _write_graph(self) -> None:
        """Writes the graph beside the checkpoints and to the event file."""
        if self._logdir:
            write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, "graph.pbtxt")
        if self._summary_writer is not None and not self._graph_added_to_summary:
            self._summary_writer.add_graph(self._graph)
            saver_def = self._saver.saver_def if self._saver is not None else None
            self._summary_writer.add_meta_graph(export_meta_graph(graph=self._graph, saver_def=saver_def))
            self._graph_added_to_summary = True

    # -- threads ------------------------------------------------------------------------------------------------------

    def start_standard_services(self, sess: SessionLike) -> list[LooperThread] | None:
        """Starts the threads that write summaries, the rate of steps, and checkpoints."""
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors can write events."
            )
        if not self._logdir:
            logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._summary_writer is not None:
            add_status(self._summary_writer, "START", value_of_step(sess, self._global_step))
        threads: list[LooperThread] = []
        if self._save_summaries_secs and self._summary_writer is not None:
            if self._summary_op is not None:
                threads.append(SVSummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(SVStepCounterThread(self, sess))
        if self._saver is not None and self._save_model_secs:
            threads.append(SVTimerCheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(self, sess: SessionLike, queue_runners: Sequence[Any] | None = None) -> list[Any]:
        """Starts the queue runners of the graph, or those given, and returns their threads."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        return [
            thread
            for runner in queue_runners
            for thread in runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        ]

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> LooperThread:
        """Starts a thread that calls a function repeatedly until the supervisor stops."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def stop(
        self,
        threads: Sequence[Any] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stops the threads, and raises the error of one that failed; the session stays open."""
        self._coord.request_stop()
        try:
            self._coord.join(
                threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self._writer_is_open:
                add_status(self._summary_writer, "STOP")
                self._summary_writer.close()
                self._writer_is_open = self._graph_added_to_summary = False

    def request_stop(self, ex: object = None) -> None:
        """Requests all threads to stop, optionally with an exception."""
        self._coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Returns whether a stop was requested."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> contextlib.AbstractContextManager[None]:
        """Context manager that requests a stop at an exception."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Blocks until a stop is requested."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: SessionLike, summary: Any, global_step: int | None = None) -> None:
        """Writes a summary that the program has computed."""
        if self._summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = value_of_step(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def _chosen(argument: Any, key: str, make: Callable[[], Any]) -> Any:
    """Returns the given value, the first of a collection, or a new one, which is added to the collection."""
    if argument is not Supervisor.USE_DEFAULT:
        return argument
    elements = get_collection(key)
    if elements:
        return elements[0]
    element = make()
    if element is not None:
        add_to_collection(key, element)
    return element


class SVSummaryThread(LooperThread):
    """Writes summaries at an interval in seconds."""

    def __init__(self, sv: Supervisor, sess: SessionLike) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self) -> None:
        fetches = [self._sv.summary_op]
        if self._sv.global_step is not None:
            fetches.append(self._sv.global_step)
        summary, *step = self._sess.run(fetches)
        self._sv.summary_writer.add_summary(summary, step[0] if step else None)


class SVStepCounterThread(LooperThread):
    """Writes the number of steps per second at an interval in seconds."""

    def __init__(self, sv: Supervisor, sess: SessionLike, step_counter: Any = None) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess
        self._counter = sv.global_step if step_counter is None else step_counter
        self._tag = f"{self._counter.op.name}/sec"

    def start_loop(self) -> None:
        self._last_time, self._last_step = time.time(), value_of_step(self._sess, self._counter)

    def run_loop(self) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        step, now = value_of_step(self._sess, self._counter), time.time()
        seconds = now - self._last_time
        rate = (step - self._last_step) / seconds if seconds > 0 else float("inf")
        self._last_time, self._last_step = now, step
        value = Summary.Value(tag=self._tag, simple_value=rate)
        self._sv.summary_writer.add_summary(Summary(value=[value]), step)
        logging.log_first_n(logging.INFO, "%s: %g", 10, self._tag, rate)


class SVTimerCheckpointThread(LooperThread):
    """Saves a checkpoint at an interval in seconds."""

    def __init__(self, sv: Supervisor, sess: SessionLike) -> None:
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self) -> None:
        sv = self._sv
        logging.info("Saving checkpoint to path %s", sv.save_path)
        with paused_updates(self._sess):
            sv.saver.save(self._sess, sv.save_path, global_step=sv.global_step)
        if sv.summary_writer is not None and sv.global_step is not None:
            step = value_of_step(self._sess, sv.global_step)
            add_status(sv.summary_writer, "CHECKPOINT", step, str(sv.save_path))
