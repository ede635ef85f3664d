"""The control plane: the calls between clients, masters and workers that may be slow, over gRPC.

A message is a version, fields as JSON, and an attachment of bytes (a graph). Both ends check the version, so that
different releases in one cluster say so instead of misunderstanding each other.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from typing import TypeVar

from thalweg._src.base import errors
from thalweg._src.base.config import ClusterDef, ConfigProto
from thalweg._src.base.messages import Message, Repeated, message
from thalweg._src.cluster.distributed.limits import MAX_FIELDS
from thalweg._src.runtime.resources.devices import Device

VERSION = 3
SERVICE = "thalweg.Task"
_HEAD = struct.Struct("<4sII")  # magic, version, bytes of the fields
_MAGIC = b"THLW"
M = TypeVar("M", bound=Message)


@message
class DeviceInfo(Message):
    """A device of a task."""

    name: str
    device_type: str
    memory_limit: int


@message
class Nothing(Message):
    """An answer without contents."""


@message
class TaskRequest(Message):
    """Asks a task who it is."""


@message
class TaskInfo(Message):
    """A task: its name, a number that changes when it is restarted, and the addresses of its data plane."""

    task: str
    incarnation: int
    unix_name: str
    data_port: int


@message
class CreateWorkerSession(Message):
    """Creates a session of a master, a task, at a worker; the answer lists the worker's devices."""

    session: str
    master: str
    config: ConfigProto
    is_isolated: bool
    cluster: ClusterDef


@message
class DeviceList(Message):
    """The devices of one or more tasks."""

    device: Repeated[DeviceInfo]


@message
class DeleteWorkerSession(Message):
    """Deletes a session of a master at a worker."""

    session: str


@message
class RegisterStep(Message):
    """Registers the partitions of a step at a worker, which are attached.

    others: the other tasks that take part, with the incarnations that have this step; 0 is any
    routes: the task that receives each key
    """

    session: str
    num_fetches: int
    others: dict[str, int]
    routes: dict[str, str]


@message
class Handle(Message):
    """What a later call refers to."""

    session: str
    handle: int


@message
class Reset(Message):
    """Destroys the resources in some containers, or in all.

    is_for_cluster: at all tasks of the cluster that match the filters, and closes the sessions of the master
    """

    container: Repeated[str]
    is_for_cluster: bool
    device_filters: Repeated[str]


@message
class CreateSession(Message):
    """Creates a session of a client at a master.

    session: its name, which the client chooses, so that a repeated call does not create another one
    """

    session: str
    client: str
    config: ConfigProto


@message
class CreatedSession(Message):
    """A new session of a client, and the devices of all its tasks."""

    session: str
    device: Repeated[DeviceInfo]


@message
class SessionName(Message):
    """A session of a client."""

    session: str


@message
class ExtendSession(Message):
    """Adds the attached GraphDef to the graph of a session.

    replaces: whether it is the whole graph, of which operations were edited
    since: how many operations the server has, as far as the client knows
    until: how many it has afterwards
    """

    session: str
    replaces: bool
    since: int
    until: int


@message
class PrepareStep(Message):
    """Compiles a step for feeds, fetches and targets, by the names of tensors and operations."""

    session: str
    feed: Repeated[str]
    fetch: Repeated[str]
    target: Repeated[str]
    is_partial: bool


@message
class PreparedStep(Message):
    """A step that is ready to run."""

    handle: int
    placement: str


@message
class ReleaseStep(Message):
    """Drops a prepared step."""

    session: str
    handle: int


@message
class StartPartial(Message):
    """Starts a partial run of a prepared step, whose feeds and fetches pass over the link of the client."""

    handle: int
    step: int


@message
class StatusRequest(Message):
    """Asks what a task does."""


@message
class RunningStep(Message):
    """A running step, and the nodes and tasks that it waits for."""

    step: int
    waiting: Repeated[str]


@message
class Status(Message):
    """What a task does: its steps, sessions, and the tasks that it is connected to."""

    task: str
    seconds: float
    running: Repeated[RunningStep]
    sessions: int
    connected: Repeated[str]
    slab_bytes: int


@message
class TransactionRequest(Message):
    """Asks the coordinator of a step's transaction, whose participant asks, whether it was committed."""

    step: int
    participant: str


@message
class TransactionState(Message):
    """Whether a transaction was committed; if not, it never will be."""

    is_committed: bool


@message
class JoinGroup(Message):
    """Joins a group of collectives at its leader, with members of one task.

    attempt: a number of this attempt; the call is repeated until the group is complete
    is_leaving: does not wait any more
    """

    key: int
    size: int
    local_size: int
    task: str
    attempt: int
    is_leaving: bool


@message
class GroupInfo(Message):
    """A group: its number and tasks in the order of ranks; number 0 and the tasks that joined if it is incomplete.

    local_size: the members at each task
    """

    number: int
    task: Repeated[str]
    local_size: Repeated[int]


@message
class GroupValue(Message):
    """Reads a value of the store of a group, or writes it.

    action: "get" or "set"
    value: in base64
    """

    number: int
    action: str
    key: str
    value: str


@message
class GroupAnswer(Message):
    """A value of the store of a group, in base64, if it is there."""

    is_there: bool
    value: str


@message
class EndGroup(Message):
    """Tells a member of a group that another task takes part no longer, after so many operations.

    message: what failed there; empty if it closed its session
    """

    number: int
    task: str
    operations: int
    message: str


CALLS: dict[type[Message], type[Message]] = {
    TaskRequest: TaskInfo,
    CreateWorkerSession: DeviceList,
    DeleteWorkerSession: Nothing,
    RegisterStep: Handle,
    Handle: Nothing,  # deregisters a step at a worker
    Reset: Nothing,
    CreateSession: CreatedSession,
    ExtendSession: Nothing,
    PrepareStep: PreparedStep,
    ReleaseStep: Nothing,
    StartPartial: Nothing,
    SessionName: Nothing,  # closes a session
    StatusRequest: Status,
    TransactionRequest: TransactionState,
    JoinGroup: GroupInfo,
    GroupValue: GroupAnswer,
    EndGroup: Nothing,
}


def device_list(devices: Iterable[Device]) -> DeviceList:
    """Returns devices as a message."""
    found = [DeviceInfo(name=d.name, device_type=d.type, memory_limit=d.memory_limit) for d in devices]
    return DeviceList(device=found)


def encode(message: Message, attachment: bytes = b"") -> bytes:
    """Returns a message as bytes."""
    fields = json.dumps(message.as_dict()).encode()
    return b"".join((_HEAD.pack(_MAGIC, VERSION, len(fields)), fields, attachment))


def decode(kind: type[M], content: bytes) -> tuple[M, memoryview]:
    """Returns a message and its attachment."""
    if len(content) < _HEAD.size:
        raise ValueError(f"{len(content)} bytes are no message of a Thalweg cluster")
    magic, version, size = _HEAD.unpack_from(content)
    if magic != _MAGIC:
        raise ValueError("this is no message of a Thalweg cluster")
    if version != VERSION:
        raise errors.FailedPreconditionError(
            None,
            None,
            f"the other task speaks version {version} of the protocol, this one {VERSION}: "
            "all tasks of a cluster need the same release of Thalweg",
        )
    if size > min(MAX_FIELDS, len(content) - _HEAD.size):
        raise ValueError(f"a message with {size} bytes of fields in {len(content)} bytes")
    end = _HEAD.size + size
    try:
        fields = json.loads(content[_HEAD.size : end])
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the fields of a message cannot be read: {error}") from None
    return kind.from_dict(fields), memoryview(content)[end:]
