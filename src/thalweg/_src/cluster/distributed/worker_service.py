"""The Worker service of a task: what masters and other workers ask of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from thalweg._src.base import errors
from thalweg._src.base.config import ClusterDef
from thalweg._src.cluster.distributed import background, control, conversions
from thalweg._src.cluster.distributed.collectives import GroupEnd, JoinRequest
from thalweg._src.cluster.distributed.group_table import Formed
from thalweg._src.cluster.distributed.reach import Reach
from thalweg._src.cluster.distributed.worker import Destination, SessionSpec, Worker
from thalweg._src.graph.ir import serialize

_ORPHAN_SECONDS = 10.0


class WorkerService:
    """Answers the calls of the Worker service.

    Args:
      worker: the worker of this task.
      reach: what graphs from other processes may reach.
      find_peer: returns a task of a cluster.
      get_task: returns the names and addresses of this task.
      get_status: returns what this task does.
    """

    def __init__(
        self,
        worker: Worker,
        reach: Reach,
        find_peer: Callable[[ClusterDef, str], Destination],
        get_task: Callable[[], control.TaskInfo],
        get_status: Callable[[], control.GetStatusResponse],
    ) -> None:
        self._worker = worker
        self._reach = reach
        self._find_peer = find_peer
        self._get_task = get_task
        self._get_status = get_status
        self._sessions: dict[str, SessionSpec] = {}  # of masters at other tasks
        self._since: dict[str, float] = {}

    def GetTask(self, request: control.GetTaskRequest) -> control.TaskInfo:
        return self._get_task()

    def GetStatus(self, request: control.GetStatusRequest) -> control.GetStatusResponse:
        return self._get_status()

    # -- sessions and graphs ------------------------------------------------------------------------------------------

    def CreateWorkerSession(self, request: control.CreateWorkerSessionRequest) -> control.DeviceList:
        session = self._sessions.get(request.session)
        if session is not None and session.master == request.master:  # the call was repeated
            devices = self._worker.session_devices(request.session)
        else:
            session = SessionSpec(
                request.session,
                request.master,
                conversions.config_from_json(request.config_json),
                request.is_isolated,
                conversions.cluster_from_message(request.cluster),
            )
            devices = self._worker.create_session(session)
            self._sessions[session.name], self._since[session.name] = session, time.monotonic()
        return control.DeviceList(device=conversions.device_messages(devices))

    def DeleteWorkerSession(self, request: control.DeleteWorkerSessionRequest) -> None:
        self._delete(request.session)

    def _delete(self, name: str) -> None:
        self._sessions.pop(name, None)
        self._since.pop(name, None)
        self._worker.delete_session(name)

    def delete_sessions_of(self, master: str) -> int:
        """Deletes the sessions of a master that is lost, and returns how many they were."""
        names = [name for name, session in list(self._sessions.items()) if session.master == master]
        for name in names:
            self._delete(name)
        return len(names)

    def delete_orphans(self, is_linked: Callable[[str], bool]) -> None:
        """Deletes sessions whose master was lost before they were created: no link of it is left to be lost."""
        old = time.monotonic() - _ORPHAN_SECONDS
        for name in [name for name, since in list(self._since.items()) if since < old]:
            session = self._sessions.get(name)
            if session is not None and not is_linked(session.master):
                background.call(self._delete, name)

    def RegisterGraph(self, request: control.RegisterGraphRequest) -> control.RegisterGraphResponse:
        session = self._sessions.get(request.session)
        cluster = ClusterDef() if session is None else session.cluster
        try:
            partitions = serialize.from_bytes(memoryview(request.partitions))
        except ValueError as error:
            raise errors.invalid(f"{self._worker.task} {error}") from None
        self._reach.check(serialize.external_nodes(partitions))
        others = {task: self._find_peer(cluster, task) for task in request.others}
        handle = self._worker.register(
            request.session, partitions, request.num_fetches, others, dict(request.others), dict(request.routes)
        )
        return control.RegisterGraphResponse(handle=handle)

    def DeregisterGraph(self, request: control.DeregisterGraphRequest) -> None:
        self._worker.deregister(request.session, request.handle)

    def CleanupAll(self, request: control.CleanupAllRequest) -> None:
        self._worker.reset(list(request.container))

    # -- transactions and groups --------------------------------------------------------------------------------------

    def GetTransaction(self, request: control.GetTransactionRequest) -> control.GetTransactionResponse:
        is_committed = self._worker.transactions.answer(request.step, request.participant)
        return control.GetTransactionResponse(is_committed=is_committed)

    def JoinGroup(self, request: control.JoinGroupRequest) -> control.JoinGroupResponse:
        group = self._worker.collectives.join(
            JoinRequest(request.key, request.size, request.local_size, request.task, request.attempt),
            request.is_leaving,
        )
        if isinstance(group, Formed):
            return control.JoinGroupResponse(number=group.number, task=group.tasks, local_size=group.local_sizes)
        return control.JoinGroupResponse(task=group)

    def GetGroupValue(self, request: control.GetGroupValueRequest) -> control.GetGroupValueResponse:
        value = self._worker.collectives.get_value(request.number, request.key)
        return control.GetGroupValueResponse(has_value=value is not None, value=value or b"")

    def SetGroupValue(self, request: control.SetGroupValueRequest) -> None:
        self._worker.collectives.set_value(request.number, request.key, request.value)

    def EndGroup(self, request: control.EndGroupRequest) -> None:
        end = GroupEnd(request.number, request.task, request.operations, request.message)
        self._worker.collectives.end(end)
