"""`thalweg status`: what the tasks of a cluster do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.errors import format_bytes
from thalweg._src.cluster.distributed import control
from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec
from thalweg._src.cluster.distributed.credentials import Credentials
from thalweg._src.cluster.distributed.rpc import Stub

_CALLS = 32  # at a time
_COLUMNS = ("task", "address", "up", "steps", "sessions", "slab", "connected to")


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """The answer of a task, or the reason why there is none."""

    task: str
    address: str
    status: control.GetStatusResponse | None
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields for JSON."""
        fields: dict[str, Any] = {"task": self.task, "address": self.address, "is_up": self.status is not None}
        if self.status is None:
            return {**fields, "reason": self.reason}
        status = self.status
        return {
            **fields,
            "seconds": status.seconds,
            "running": [{"step": step.step, "waiting": list(step.waiting)} for step in status.running],
            "sessions": status.sessions,
            "connected": list(status.connected),
            "slab_bytes": status.slab_bytes,
        }


def addresses(cluster: ClusterSpec) -> dict[str, str]:
    """Returns the name of the task at each address."""
    return {
        cluster.task_address(job, index): f"/job:{job}/replica:0/task:{index}"
        for job in sorted(cluster.jobs)
        for index in cluster.task_indices(job)
    }


def ask(tasks: Mapping[str, str], seconds: float) -> list[TaskStatus]:
    """Asks all tasks at once; tasks are given by address, with a name or "" where any task may answer."""
    with ThreadPoolExecutor(_CALLS) as pool:
        return list(pool.map(_ask, tasks, tasks.values(), repeat(seconds)))


def _ask(address: str, task: str, seconds: float) -> TaskStatus:
    try:
        stub = Stub(address, Credentials.find([address]))
        try:
            status = stub.call(control.GetStatusRequest(), control.GetStatusResponse, timeout=seconds)
        finally:
            stub.close()
    except errors.DeadlineExceededError:
        return TaskStatus(task, address, None, f"no answer within {seconds:g} s")
    except (errors.OpError, ValueError) as error:
        return TaskStatus(task, address, None, getattr(error, "message", None) or str(error))
    if task not in ("", status.task):
        return TaskStatus(task, address, None, f"{status.task} answers at this address")
    return TaskStatus(status.task, address, status)


def table(statuses: list[TaskStatus]) -> list[str]:
    """Returns the lines of a table; below a task, what each of its running steps waits for."""
    rows: list[tuple[str, ...]] = [_COLUMNS]
    below: list[list[str]] = [[]]
    for task in statuses:
        status = task.status
        name = _short(task.task) or "?"
        if status is None:
            rows.append((name, task.address, "down"))
            below.append([f"  {line}" for line in task.reason.splitlines()])
            continue
        numbers = (str(len(status.running)), str(status.sessions), format_bytes(status.slab_bytes))
        connected = ", ".join(map(_short, status.connected)) or "-"
        rows.append((name, task.address, duration(status.seconds), *numbers, connected))
        below.append([f"  step {step.step} {_waits(list(step.waiting))}" for step in status.running])
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(len(_COLUMNS))]
    lines = []
    for row, more in zip(rows, below, strict=True):
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        lines += more
    return lines


def duration(seconds: float) -> str:
    """Returns a time in its two largest units."""
    minutes, hours, days = (int(seconds // unit) for unit in (60, 3600, 86400))
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {int(seconds % 60)} s" if minutes else f"{int(seconds)} s"


def _waits(names: list[str]) -> str:
    return f"waits for {', '.join(map(_short, names))}" if names else "computes"


def _short(task: str) -> str:
    """Returns a task as `worker 0`; the name of a client stays as it is."""
    return re.sub(r"^/job:(\w+)/replica:0/task:(\d+)$", r"\1 \2", task)
