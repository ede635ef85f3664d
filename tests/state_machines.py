"""The latest events of the state machines, for reports of failures, and what must hold after each event.

The machines stay as they are: their methods are wrapped when tests start, so that a program pays nothing.
"""

import threading
import time
from collections import deque
from functools import wraps

from thalweg._src.cluster.distributed.flow_control import SendWindow
from thalweg._src.cluster.distributed.group_table import MAX_ATTEMPTS, MAX_GROUPS, GroupTable
from thalweg._src.cluster.distributed.liveness import Liveness
from thalweg._src.cluster.distributed.master_state import MasterStep
from thalweg._src.cluster.distributed.worker_state import WorkerSteps
from thalweg._src.deploy.serving.batch_queue import BatchQueues
from thalweg._src.deploy.serving.versions import State, Versions
from thalweg._src.runtime.compile.tiers import Tiers
from thalweg._src.runtime.execute.readiness import Readiness
from thalweg._src.runtime.resources.transaction_state import Branch

_KEPT = 400
_SHOWN = 40
_CHECKED = 100  # entries of a machine, beyond which checking each event would take too long
_SIMPLE = (int, float, bool, type(None))

_events = deque(maxlen=_KEPT)
_broken = []  # what did not hold: the code that made the event may catch the error


def check_worker_steps(steps):
    """A step that failed is not there unless it runs on; what came early belongs to a step that has not started."""
    for step, entry in steps._entries.items():
        assert entry.run is not None or step not in steps._failed, f"step {step} failed, and waits to start"
        assert entry.run is not None or not entry.tasks, f"step {step} has tasks, and has not started"


def check_master_step(step):
    """Only tasks of the step are waited for, and there is a place for each value."""
    assert step._waiting <= step.positions.keys()
    assert len(step._values) == step.num_fetches


def check_group_table(table):
    """An attempt is formed or failed, not both; groups that form wait for somebody, and what is kept is bounded."""
    assert not table._formed.keys() & table._failed.keys()
    assert len(table._groups) <= MAX_GROUPS and len(table._formed) <= MAX_ATTEMPTS
    for key, forming in table._forming.items():
        count = sum(member.local_size for member in forming.members.values())
        assert count < forming.size, f"group {key} is complete, and waits"


def check_send_window(window):
    """No more is under way than the limit, and no empty list of offers is kept."""
    assert 0 <= window._unconsumed <= max(window._limit, 0)
    assert all(window._offered.values())


def check_readiness(readiness):
    """No item is finished twice, and no value used more often than it is there."""
    assert readiness.left >= 0 and readiness.over == (readiness.left == 0)
    assert min(readiness.waits.values(), default=0) >= 0
    assert min(readiness.uses.values(), default=0) >= 0


def check_tiers(tiers):
    """The trials that are counted are those without a winner."""
    assert tiers._undecided == sum(trial.winner is None for trial in tiers._trials.values())


def check_branch(branch):
    """Segments do not end more often than they start."""
    assert branch.running >= 0


def check_versions(versions):
    """The last available version goes only if none is wanted."""
    for version, status in versions.status.items():
        assert status.error is None or status.state == State.END, f"version {version} has failed and is {status.state}"


def check_batch_queues(queues):
    """No queue is empty, and each counts the examples of its requests."""
    for queue in queues._queues.values():
        assert queue.requests and queue.size == sum(request.size for request in queue.requests)


CHECKS = {
    WorkerSteps: check_worker_steps,
    MasterStep: check_master_step,
    GroupTable: check_group_table,
    Liveness: None,
    SendWindow: check_send_window,
    Readiness: check_readiness,
    Tiers: check_tiers,
    Branch: check_branch,
    Versions: check_versions,
    BatchQueues: check_batch_queues,
}


def install():
    """Makes all state machines of this process note their events, and checks them after each."""
    for machine, check in CHECKS.items():
        for name, method in list(vars(machine).items()):
            if callable(method) and not name.startswith("_") and not isinstance(method, type):
                setattr(machine, name, _noting(machine.__name__, name, method, check))


def _noting(machine, name, method, check):
    @wraps(method)
    def call(self, *args, **kwargs):
        _events.append((time.monotonic(), _thread_name(), machine, id(self), name, _words(args)))
        result = method(self, *args, **kwargs)
        if check is not None and _size(self) <= _CHECKED:
            try:
                check(self)
            except AssertionError as error:
                _broken.append(f"{machine} after {name}({_words(args)}): {error}")
                raise
        return result

    return call


def _thread_name():
    """Returns the name of this thread; one that native code has started gets no object, which would stay."""
    thread = threading._active.get(threading.get_ident())
    return "native" if thread is None else thread.name


def _size(machine):
    waits = getattr(machine, "waits", None) or getattr(machine, "_entries", None)
    return 0 if waits is None else len(waits)


def _words(args):
    """Returns arguments as text, without keeping them alive."""
    return ", ".join(_word(arg) for arg in args)


def _word(value):
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else repr(value[:57] + "...")
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {str(value)[:80]}"
    return repr(value) if isinstance(value, _SIMPLE) else f"<{type(value).__name__}>"


def forget():
    """Forgets all events, before a test or a schedule."""
    _events.clear()
    _broken.clear()


def broken():
    """Returns what did not hold since then, in words."""
    return list(_broken)


def report():
    """Returns the latest events, one in each line; nothing if there were none."""
    events = list(_events)
    numbers = {}
    for _, _, machine, identity, _, _ in events:
        numbers.setdefault((machine, identity), sum(key[0] == machine for key in numbers) + 1)
    shown = events[-_SHOWN:]
    first = shown[0][0] if shown else 0.0
    lines = [
        f"{at - first:9.4f}  {thread:24} {machine} {numbers[machine, identity]}: {name}({words})"
        for at, thread, machine, identity, name, words in shown
    ]
    return "\n".join(lines)
