"""Master: runs the sessions of clients over the tasks of a cluster.

It prunes, places and partitions a step over the devices of all tasks and registers each task's partitions there once.
A step is then one message to each other task; its own partitions run on the thread of the caller.
"""

from __future__ import annotations

import contextlib
import itertools
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.config import ClusterDef, ConfigProto
from thalweg._src.base.devices import matches, task_of
from thalweg._src.cluster.distributed import background
from thalweg._src.cluster.distributed.channel import StepRequest
from thalweg._src.cluster.distributed.channel_pump import AVAILABLE, ChannelPump
from thalweg._src.cluster.distributed.early_steps import Loop
from thalweg._src.cluster.distributed.finalizers import Finalizer
from thalweg._src.cluster.distributed.master_state import MasterStep
from thalweg._src.cluster.distributed.peers import InProcessReply, Peer, Reply, SocketReply, await_reply
from thalweg._src.cluster.distributed.worker import SessionSpec, Worker
from thalweg._src.compiler.partition.client import CLIENT
from thalweg._src.compiler.partition.early_start import may_start_early
from thalweg._src.compiler.partition.graphdef import partition_graph_def
from thalweg._src.graph.ir.step_graph import Node, StepGraph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.source_line import with_line
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.backend import DeviceAttributes, attributes_of
from thalweg._src.runtime.passes import Compilation
from thalweg._src.runtime.pipeline import partition_step
from thalweg._src.runtime.resources.containers import Containers
from thalweg._src.runtime.resources.devices import Device, TorchDevice
from thalweg._src.runtime.resources.rendezvous import rendezvous_key
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.thread_pool import threads


@dataclass(slots=True)
class TaskStep:
    """What one task runs of a step.

    feeds: the places of its feeds among those of the step
    fetches: the places of its fetches
    """

    peer: Peer
    partitions: dict[str, StepGraph]
    feeds: list[int]
    fetches: list[int]
    routes: dict[str, str] = field(default_factory=dict)
    handle: int = 0


class MasterSession:
    """A session over the tasks of a cluster."""

    def __init__(
        self,
        worker: Worker,
        peers: dict[str, Peer],
        config: ConfigProto,
        cluster: ClusterDef,
        timeout: float,
        name: str = "",
    ) -> None:
        """peers: all tasks that the session may use, this one included; timeout: for each call to them."""
        self.name = name or secrets.token_hex(8)
        self._timeout = timeout
        self.config = worker.merged(config)
        self._worker = worker
        self._peers = peers
        # Workers know steps by their numbers alone, whichever master they are of: each session counts from a random
        # place.
        self._next_step = itertools.count(secrets.randbits(31) << 32).__next__
        is_isolated = config.isolate_session_state or bool(config.cluster_def.job)
        spec = SessionSpec(self.name, worker.task, config, is_isolated, cluster)
        self.devices: list[DeviceAttributes] = []
        created: list[Peer] = []
        self._delete = Finalizer(self, partial(_delete, self.name, created))
        self.is_closed = False
        try:
            for peer in _local_first(worker.task, peers):
                # Before the call, whose answer may be lost although the session was created.
                created.append(peer)
                self.devices += peer.create_session(spec, timeout)
            local = {device.name: device for device in attributes_of(worker.session_devices(self.name))}
            self.devices = [local.get(device.name, device) for device in self.devices]
        except BaseException:
            self.close()
            raise
        self.placed = self._placeholders()

    def _placeholders(self) -> list[Device]:
        """Returns the devices for placement: those of this task first, which unplaced operations prefer."""
        local = {device.name: device for device in self._worker.session_devices(self.name)}
        nowhere = Containers()
        return [
            local.get(device.name)
            or Device(
                device.name, device.device_type, TorchDevice("cpu"), nowhere, memory_limit=device.memory_limit_bytes
            )
            for device in self.devices
        ]

    def compile(
        self, feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation], is_partial: bool = False
    ) -> ClusterExecutable:
        """Partitions a step and registers its partitions at the tasks that run them."""
        compilation = Compilation(feeds, fetches, targets, self.config, self.placed, is_partial)
        partition_step(compilation)
        task_steps = self._task_steps(compilation)
        others = set(task_steps) if not is_partial else {*task_steps, self._worker.task}
        registered: list[TaskStep] = []
        # The list grows as tasks answer: if one of them fails, what the others have registered is dropped with the
        # executable.
        executable = ClusterExecutable(self, self._worker, compilation, task_steps)
        Finalizer(executable, partial(_deregister, self.name, registered), at_exit=False)

        def register(task: str) -> None:
            task_step = task_steps[task]
            incarnations = {other: self._peers[other].incarnation for other in sorted(others - {task})}
            task_step.handle = task_step.peer.register(
                self.name, task_step.partitions, len(task_step.fetches), incarnations, task_step.routes, self._timeout
            )
            registered.append(task_step)

        first, *more = task_steps or [None]
        registering = [background.call(register, task) for task in more if task is not None]
        if first is not None:
            register(first)
        for future in registering:
            future.result()
        return executable

    def _task_steps(self, c: Compilation) -> dict[str, TaskStep]:
        """Groups the partitions of a step by task, and numbers the feeds and fetches of each."""
        task_steps: dict[str, TaskStep] = {}
        numbers: dict[tuple[str, int], int] = {}
        for device, partition in c.partitions.items():
            task = task_of(device)
            task_step = task_steps.get(task)
            if task_step is None:
                task_step = task_steps[task] = TaskStep(self._peers[task], {}, [], [])
            task_step.partitions[device] = partition
            positions = range(len(partition.fetches)) if partition.positions is None else partition.positions
            partition.positions = list(range(len(task_step.fetches), len(task_step.fetches) + len(partition.fetches)))
            task_step.fetches += positions
            for feed in partition.feeds:
                index = feed.attrs["index"]
                number = numbers.setdefault((task, index), len(task_step.feeds))
                if number == len(task_step.feeds):
                    task_step.feeds.append(index)
                feed.attrs = {**feed.attrs, "index": number}
        local_task = self._worker.task
        for task, task_step in task_steps.items():
            task_step.routes = dict(_routes(task, task_step.partitions, local_task))
        return task_steps

    def close(self) -> None:
        """Deletes the session at all tasks."""
        self.is_closed = True
        self._worker.runs.drop(self.name)
        self._delete()

    def next_step(self) -> int:
        return self._next_step()


def _local_first(local_task: str, peers: dict[str, Peer]) -> list[Peer]:
    return [peers[local_task], *(peer for task, peer in sorted(peers.items()) if task != local_task)]


def _routes(task: str, partitions: dict[str, StepGraph], local_task: str) -> Iterator[tuple[str, str]]:
    """Yields the keys that a task sends to other tasks; what is for the client goes to the master."""
    for partition in partitions.values():
        for node in partition.everything():
            if node.type in ("_Send", "_SendMany"):
                destination = node.attrs["recv_device"]
                receiver = local_task if destination == CLIENT else task_of(destination) or task
                if receiver != task:
                    yield rendezvous_key(node.attrs["send_device"], destination, node.attrs["tensor_name"]), receiver


def _client_keys(partitions: dict[str, StepGraph]) -> Iterator[str]:
    """Yields the keys of what the client of a partial run feeds."""
    for partition in partitions.values():
        for node in partition.nodes:
            if node.type == "_Recv" and node.attrs["send_device"] == CLIENT:
                yield rendezvous_key(CLIENT, node.attrs["recv_device"], node.attrs["tensor_name"])


def _delete(session: str, created: list[Peer]) -> None:
    for peer in created:
        with contextlib.suppress(errors.OpError):
            peer.delete_session(session)


def _deregister(session: str, registered: list[TaskStep]) -> None:
    for task_step in registered:
        with contextlib.suppress(errors.OpError):
            task_step.peer.deregister(session, task_step.handle)


@dataclass(slots=True)
class StartedStep:
    """A step that all other tasks have started.

    peers: those tasks
    replies: what they will answer
    """

    number: int
    peers: Mapping[str, Peer]
    replies: dict[str, SocketReply] = field(default_factory=dict)

    def drop(self) -> None:
        error = errors.CancelledError(None, None, "The step was started early, and was not needed.")
        for task, reply in self.replies.items():
            self.peers[task].abort(self.number, error)
            reply.discard()


class ClusterExecutable:
    """A step over several tasks, with the interface of `Executable`."""

    def __init__(self, session: MasterSession, worker: Worker, c: Compilation, task_steps: dict[str, TaskStep]) -> None:
        self._session = session
        self._worker = worker
        self.placement = c.placement
        self.steps = itertools.count()  # step counter for periodic cost measurement
        self._num_fetches = len(c.step.fetches) if not c.is_partial else 0
        self._local = task_steps.get(worker.task)
        self._others = {task: task_step for task, task_step in task_steps.items() if task != worker.task}
        self._task_steps = task_steps
        self._loop = Loop(worker.runs, session.name)
        self._may_start_early = not c.is_partial and may_start_early(c.partitions, worker.task)
        self._nodes: dict[str, Node] | None = None

    # -- running ------------------------------------------------------------------------------------------------------

    def run(self, step: Step, feeds: Sequence[Any]) -> Sequence[Any]:
        """Runs one step; blocks until it has finished or failed."""
        try:
            if self._others:
                with self._worker.runs.counted() as before:
                    return self._run_everywhere(step, feeds, before)
            local = self._local
            if local is None:
                return []
            values = self._worker.run(local.handle, self._session.next_step(), [feeds[i] for i in local.feeds], step)
            result: list[Any] = [None] * self._num_fetches
            for place, value in zip(local.fetches, values):
                result[place] = value
            return result
        except errors.OpError as error:
            if self._session.is_closed and isinstance(error, errors.AbortedError):
                raise errors.CancelledError(None, None, "Session has been closed.") from None
            raise self._explained(error) from None

    def _run_everywhere(self, step: Step, feeds: Sequence[Any], before: int) -> list[Any]:
        early = self._early_step(step)
        step_id = self._session.next_step() if early is None else early.number
        state = MasterStep({task: task_step.fetches for task, task_step in self._task_steps.items()}, self._num_fetches)
        replies: dict[str, Reply] = {} if early is None else dict(early.replies)
        next_step: StartedStep | None = None
        # It is registered before anything is sent, so that a failure at any time reaches all tasks. An abort may
        # overtake the request of its step, and the task then refuses to start it. A reply that is added while `_stop`
        # runs is not given up by it: that the step is cancelled is noticed after the loop, or between two waits for a
        # reply.
        token = step.cancellation.register(lambda error: self._stop(step_id, state, replies, error))
        others = {task: task_step.peer for task, task_step in self._others.items()}
        try:
            if self._local is None:  # the loss of a task ends the step all the same
                self._worker.open(step_id, step, others, {})
            # With a time limit, the part of this task runs on another thread.
            is_pumped = AVAILABLE and self._local is not None and step.deadline is None
            for task, task_step in self._others.items() if early is None else ():
                replies[task] = reply = task_step.peer.start(self._request(task_step, step_id, step, feeds, is_pumped))
                if isinstance(reply, InProcessReply):
                    reply.end(step)
            if is_pumped and self._may_start_early:
                next_step = self._start_next(step, replies)
            if step.cancelled:
                step.stop()
            if self._local is not None:
                answers = [reply for reply in replies.values() if is_pumped and isinstance(reply, SocketReply)]
                state.replied(self._worker.task, self._run_local(self._local, step_id, step, feeds, answers))
            for task, reply in replies.items():
                state.replied(task, await_reply(reply, step, task))
            self._loop.end(next_step, before)
            return state.result()
        except BaseException as error:
            if next_step is not None:
                next_step.drop()
            # An abort goes over links and alone is not enough: a task may wait until its channel is read, and does not
            # see it. So the channels of replies that have not come are shut down too, which wakes both ends.
            reason = error if isinstance(error, errors.OpError) else _interrupted()
            self._stop(step_id, state, replies, step.cancellation.error or reason)
            for reply in replies.values():
                reply.discard()
            is_consequence = isinstance(error, errors.UnavailableError | errors.CancelledError)
            if is_consequence and step.cancellation.error is not None:
                step.stop()  # the answer was given up because the step was cancelled
            raise
        finally:
            step.cancellation.deregister(token)
            if self._local is None:
                self._worker.end(step_id)

    def _early_step(self, step: Step) -> StartedStep | None:
        """Returns the step that other tasks have started for this run, if they have."""
        early = self._loop.next()
        if early is None:
            return None
        assert isinstance(early, StartedStep)
        if step.trace is None and step.deadline is None and self._worker.aborted(early.number) is None:
            return early
        early.drop()
        return None

    def _start_next(self, step: Step, replies: Mapping[str, Reply]) -> StartedStep | None:
        """Asks the other tasks for the next step, after this one, if it is likely to come."""
        running = {task: reply for task, reply in replies.items() if isinstance(reply, SocketReply)}
        delay = max((reply.connection.round_trip for reply in running.values()), default=0.0)
        if not self._loop.goes_on(delay) or len(running) < len(replies) or step.trace is not None:
            return None
        next_step = StartedStep(self._session.next_step(), {task: t.peer for task, t in self._others.items()})
        try:
            for task, reply in running.items():
                request = StepRequest(self._others[task].handle, next_step.number, [], is_pumped=True)
                next_step.replies[task] = reply.follow(request)
        except BaseException:
            next_step.drop()
            raise
        return next_step

    def _run_local(
        self, local: TaskStep, step_id: int, step: Step, feeds: Sequence[Any], answers: Sequence[SocketReply]
    ) -> Sequence[Any]:
        """Runs the part of this task; while it waits, this thread reads the channels of the other tasks."""
        values = [feeds[i] for i in local.feeds]
        if not answers:
            return self._worker.run(local.handle, step_id, values, step)
        # While this thread computes, it reads no channel, and a task may wait to send there. That ends: this thread
        # waits for other tasks in the pump alone, which reads, since what it sends goes over links, which are always
        # read.
        pump = step.pump = ChannelPump(answers, partial(self._worker.deliver, step_id), step.fail)
        try:
            return self._worker.run(local.handle, step_id, values, step)
        finally:
            step.pump = None
            pump.close()

    def _request(
        self, task_step: TaskStep, step_id: int, step: Step, feeds: Sequence[Any], is_pumped: bool = False
    ) -> StepRequest:
        values = [feeds[i] for i in task_step.feeds]
        is_traced = step.trace is not None
        return StepRequest(task_step.handle, step_id, values, step.milliseconds_left(), is_traced, is_pumped)

    def _stop(self, step_id: int, state: MasterStep, replies: dict[str, Reply], error: BaseException) -> None:
        """Aborts a step at the other tasks that have not replied, and waits for none of them."""
        for task in state.failed(error):
            if task in self._others:
                self._others[task].peer.abort(step_id, error)
        for reply in list(replies.values()):
            reply.abandon()

    # -- partial runs -------------------------------------------------------------------------------------------------

    def start(self, step: Step, feeds: Sequence[Any], done: Callable[[], None], step_id: int | None = None) -> None:
        """Starts a step whose feeds and fetches pass through the rendezvous; `done` is called when it ends.

        step_id: the number under which a client in another process sends its feeds
        """
        step_id = self._session.next_step() if step_id is None else step_id
        registered = None if self._local is None else self._worker.find(self._local.handle)
        routes = {} if registered is None else dict(registered.routes)
        received = {} if registered is None else registered.received
        for task_step in self._others.values():
            routes.update((key, task_step.peer) for key in _client_keys(task_step.partitions))
        others = {task: task_step.peer for task, task_step in self._others.items()}
        self._worker.open_partial(step_id, step, others, routes, received)
        state = MasterStep(dict.fromkeys(self._others, ()), 0)
        replies: dict[str, Reply] = {}
        step.cancellation.register(lambda error: self._stop(step_id, state, replies, error))
        try:
            for task, task_step in self._others.items():
                replies[task] = task_step.peer.start(self._request(task_step, step_id, step, feeds))
        except errors.OpError as error:
            step.fail(error)
        threads.start(self._finish_partial, step_id, step, state, replies, done)

    def _run_local_partially(self, step: Step) -> None:
        try:
            if step.cancelled:
                step.stop()
            if self._local is not None:
                self._worker.find(self._local.handle).executable.run(step, [])
        except BaseException as error:
            step.fail(self._explained(error) if isinstance(error, errors.OpError) else error)  # ends all waits
            raise

    def _finish_partial(
        self, step_id: int, step: Step, state: MasterStep, replies: dict[str, Reply], done: Callable[[], None]
    ) -> None:
        local = background.call(self._run_local_partially, step)  # this thread notices channels that are lost meanwhile
        try:
            for task, reply in replies.items():
                state.replied(task, await_reply(reply, step, task))
            local.result()
        except BaseException as error:
            step.fail(self._explained(error) if isinstance(error, errors.OpError) else error)
            futures.wait([local])
            self._worker.failed(step_id, {}, error)  # its tasks are told by the cancellation
            for reply in replies.values():
                reply.discard()
        done()

    # -- reports ------------------------------------------------------------------------------------------------------

    def _explained(self, error: errors.OpError) -> errors.OpError:
        """Returns an error of another task with the operation that failed, and the user's line that made it."""
        name = getattr(error, "node_name", "")
        if not name or error.op is not None:
            return error
        if self._nodes is None:
            partitions = [p for task_step in self._task_steps.values() for p in task_step.partitions.values()]
            self._nodes = {node.name: node for partition in partitions for node in partition.everything()}
        node = self._nodes.get(name)
        if node is None:
            return error
        explained: errors.OpError = type(error)(node, node, with_line(error.message, node.stack))  # type: ignore[call-arg]
        return explained

    def explain_fetch(self, error: Exception, values: Sequence[Any]) -> BaseException:
        return error

    @property
    def text(self) -> str:
        """The programs of this task; those of other tasks are compiled there."""
        local = "" if self._local is None else self._worker.find(self._local.handle).executable.text
        return "\n".join([local, *(f"# {task}: compiled there" for task in self._others)])

    def partition_graphs(self) -> list[Any]:
        """Returns the partition of each device as a GraphDef."""
        return [
            partition_graph_def(
                p.nodes, list(zip([task_step.fetches[i] for i in p.positions or ()], p.fetches)), device
            )
            for task_step in self._task_steps.values()
            for device, p in task_step.partitions.items()
        ]


def _interrupted() -> errors.CancelledError:
    return errors.CancelledError(None, None, "Step was interrupted.")


def usable(tasks: dict[str, str], filters: Collection[str]) -> dict[str, str]:
    """Returns the tasks that match one of a session's device filters; all if there are none."""
    if not filters:
        return tasks
    return {task: address for task, address in tasks.items() if any(matches(_task_part(f), task) for f in filters)}


def _task_part(name: str) -> str:
    return name.partition("/device:")[0]
