"""Queue runners: threads that fill queues in the background."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

from thalweg._src.base import errors, logging
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.graph_messages import message_class
from thalweg._src.base.messages import Message, Repeated, message
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.default_stacks import get_default_session
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.scopes import GraphKeys, add_to_collection, get_collection
from thalweg._src.runtime.resources.step import is_unobserved
from thalweg._src.runtime.session.session import BaseSession
from thalweg._src.training.checkpoint.meta_graph import register_proto_function
from thalweg._src.training.input.coordinator import Coordinator
from thalweg._src.training.input.queues import QueueBase

_ELSEWHERE = ("MonitoredSession", "SingularMonitoredSession")  # start their queue runners themselves


@export("train.QueueRunnerDef", "train.queue_runner.QueueRunnerDef")
@message
class QueueRunnerDef(Message):
    """A queue runner, described by the names of its operations."""

    queue_name: str
    enqueue_op_name: Repeated[str]
    close_op_name: str
    cancel_op_name: str
    queue_closed_exception_types: Repeated[int]


@export("train.QueueRunner", "train.queue_runner.QueueRunner")
class QueueRunner:
    """Runs the enqueue operations of a queue in threads.

    The queue is closed when all inputs have ended; when the coordinator stops or an operation fails, pending enqueue
    operations are cancelled as well.

    Args:
        queue: The queue.
        enqueue_ops: Operations that add to the queue, one thread for each.
        close_op: Operation that closes the queue.
        queue_runner_def: A `QueueRunnerDef` to restore from.
        import_scope: Name scope to put before the names in `queue_runner_def`.
    """

    queue = ReadOnly[Any]("The queue.")
    enqueue_ops = ReadOnly[list[Operation]]("The enqueue operations.")
    close_op = ReadOnly[Operation]("The operation that closes the queue.")
    cancel_op = ReadOnly[Operation]("The operation that closes the queue and cancels pending enqueue operations.")
    queue_closed_exception_types = ReadOnly[tuple[type[errors.OpError], ...]](
        "The exceptions that mean that the queue was closed.", "_closed_types"
    )
    exceptions_raised = ReadOnly[list[Exception]]("The errors of threads without a coordinator.")

    def __init__(
        self,
        queue: QueueBase | None = None,
        enqueue_ops: Sequence[Operation] | None = None,
        close_op: Operation | None = None,
        cancel_op: Operation | None = None,
        queue_closed_exception_types: Sequence[type[errors.OpError]] | None = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops is not None:
                raise ValueError("queue_runner_def and queue are mutually exclusive")
            self._restore(queue_runner_def, import_scope)
        else:
            if queue is None or not enqueue_ops:
                raise ValueError("a QueueRunner needs a queue and enqueue_ops")
            types = (errors.OutOfRangeError,) if queue_closed_exception_types is None else queue_closed_exception_types
            if not isinstance(types, tuple) or not types or not all(issubclass(cls, errors.OpError) for cls in types):
                raise TypeError(
                    f"queue_closed_exception_types: expected a tuple of classes of tf.errors, received {types!r}"
                )
            self._queue = queue
            self._enqueue_ops = list(enqueue_ops)
            self._closed_types: tuple[type[errors.OpError], ...] = types
            self._close_op = close_op if close_op is not None else queue.close()
            self._cancel_op = cancel_op if cancel_op is not None else queue.close(cancel_pending_enqueues=True)
        self._lock = threading.Lock()
        self._running: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[Exception] = []

    def _restore(self, definition: Any, import_scope: str | None) -> None:
        require_members("queue_runner_def", definition, "a QueueRunnerDef message", "queue_name", "enqueue_op_name")

        def element(name: str) -> Any:
            scoped = f"{import_scope}/{name}" if import_scope else name
            return get_default_graph().as_graph_element(scoped)

        self._queue = element(definition.queue_name)
        self._enqueue_ops = [element(name) for name in definition.enqueue_op_name]
        self._close_op = element(definition.close_op_name)
        self._cancel_op = element(definition.cancel_op_name)
        codes = list(definition.queue_closed_exception_types)
        error_types = [errors.exception_type_from_error_code(code) for code in codes]
        self._closed_types = tuple(error_types) or (errors.OutOfRangeError,)

    @property
    def name(self) -> str:
        """The name of the queue."""
        return str(self._queue.name)

    def _run(self, sess: BaseSession, enqueue_op: Operation, coord: Coordinator | None) -> None:
        """Runs one operation until the input ends, the coordinator stops, or an error occurs."""
        counted = True
        is_unobserved.set(True)
        try:
            enqueue = sess.make_callable(enqueue_op)
            while coord is None or not coord.should_stop():
                try:
                    enqueue()
                except self._closed_types:
                    counted = False
                    self._end(sess)
                    return
        except Exception as error:
            if getattr(sess, "_closed", False):
                return  # the session was closed
            if coord is not None:
                coord.request_stop(error)
                return
            logging.error("Exception in QueueRunner: %s", error)
            with self._lock:
                self._exceptions_raised.append(error)
            raise
        finally:
            if counted:
                with self._lock:
                    self._running[sess] -= 1

    def _end(self, sess: BaseSession) -> None:
        """Counts a thread whose input has ended; the last one closes the queue."""
        with self._lock:
            self._running[sess] -= 1
            is_last = self._running[sess] == 0
        if is_last:
            self._try(sess, self._close_op)

    def _close_on_stop(self, sess: BaseSession, cancel_op: Operation, coord: Coordinator) -> None:
        coord.wait_for_stop()
        if coord.will_recover:
            sess.close()  # ends the steps that wait, and leaves the queue open for the next session
        else:
            self._try(sess, cancel_op)

    def _try(self, sess: BaseSession, operation: Operation) -> None:
        try:
            sess.run(operation)
        except Exception as error:  # the queue, or the session, is already closed
            logging.vlog(1, "Ignored exception: %s", error)

    def create_threads(
        self, sess: BaseSession, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Returns one thread per operation, and one that closes the queue when the coordinator stops.

        Returns none if the threads of this session are already running.
        """
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = [
            threading.Thread(target=self._run, args=(sess, op, coord), name=f"QueueRunnerThread-{self.name}-{op.name}")
            for op in self._enqueue_ops
        ]
        if coord is not None:
            threads.append(
                threading.Thread(
                    target=self._close_on_stop,
                    args=(sess, self._cancel_op, coord),
                    name=f"QueueRunnerThread-{self.name}-close_on_stop",
                )
            )
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if daemon:
                thread.daemon = True
            if start:
                thread.start()
        return threads

    def to_proto(self, export_scope: str | None = None) -> QueueRunnerDef | None:
        """Returns the runner as a QueueRunnerDef; None if it is outside the scope."""
        prefix = f"{export_scope}/" if export_scope else ""
        if not self.name.startswith(prefix):
            return None
        return QueueRunnerDef(
            queue_name=self.name.removeprefix(prefix),
            enqueue_op_name=[op.name.removeprefix(prefix) for op in self._enqueue_ops],
            close_op_name=self._close_op.name.removeprefix(prefix),
            cancel_op_name=self._cancel_op.name.removeprefix(prefix),
            queue_closed_exception_types=[cls.code for cls in self._closed_types],  # type: ignore[attr-defined]
        )

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """Returns the QueueRunner of a QueueRunnerDef."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


@export("train.add_queue_runner", "train.queue_runner.add_queue_runner")
def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a runner to those that `start_queue_runners` starts."""
    add_to_collection(collection, qr)


@export("train.start_queue_runners", "train.queue_runner.start_queue_runners")
def start_queue_runners(
    sess: BaseSession | None = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Starts all queue runners of the graph and returns their threads.

    Args:
        coord: The coordinator.
        daemon: Whether the threads end with the program.
        start: Whether threads are started now.
    """
    if executing_eagerly():
        raise RuntimeError("Queues are not compatible with eager execution.")
    if sess is None:
        sess = get_default_session()
        if sess is None:
            raise ValueError("queue runners cannot start: there is no default session, and none was given")
    if not isinstance(sess, BaseSession):
        if any(cls.__name__ in _ELSEWHERE for cls in type(sess).__mro__):
            return []
        raise TypeError(f"sess: expected a tf.Session, received {sess!r}")
    with sess.graph.as_default():
        return [
            thread
            for runner in get_collection(collection)
            for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
        ]


def _as_message(runner: QueueRunner, scope: str | None) -> Any:
    definition = runner.to_proto(scope)
    return None if definition is None else message_class("QueueRunnerDef")(**definition.as_dict())


def _from_bytes(value: bytes, scope: str | None) -> QueueRunner:
    return QueueRunner.from_proto(message_class("QueueRunnerDef").FromString(value), scope)


register_proto_function(GraphKeys.QUEUE_RUNNERS, _as_message, _from_bytes)
