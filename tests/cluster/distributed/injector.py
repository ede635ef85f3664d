"""Fault injector: this process fails at a named point, the n-th time that it gets there, and only once.

The fault is recorded in a file, so that a task that was restarted lives. A point is a function of the implementation
that is replaced in this process alone; the implementation itself knows nothing of faults.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from thalweg._src.base.formats.bundle_reader import BundleReader
from thalweg._src.cluster.distributed.connection import Connection
from thalweg._src.cluster.distributed.frames import FrameKind
from thalweg._src.cluster.distributed.worker import Worker
from thalweg._src.training.checkpoint.saver import Saver
from thalweg._src.training.input.coordinator import Coordinator
from thalweg._src.training.monitored_session import MonitoredSession
from thalweg._src.training.session_layers import HookedSession

GIL_SECONDS = 30
_CARRIED = (FrameKind.TENSOR, FrameKind.DONE, FrameKind.RUN_PARTITIONS)


@dataclass(frozen=True)
class Fault:
    """What happens to a task.

    point: its name among POINTS
    nth: at which occurrence of the point in the process
    action: its name among ACTIONS
    """

    point: str
    nth: int
    action: str


class Injector:
    """Counts the occurrences of the point of a fault, and lets the fault happen."""

    def __init__(self, fault, record):
        self._fault, self._record = fault, Path(record)
        self._seen = 0
        self._lock = threading.Lock()

    def install(self):
        """Replaces the function of the point in this process, unless the fault has happened in an earlier one."""
        if not self._record.exists():
            POINTS[self._fault.point](self)

    def is_due(self):
        """Counts an occurrence; returns whether the fault is to happen now."""
        with self._lock:
            self._seen += 1
            return self._seen == self._fault.nth

    def act(self):
        """Lets the fault happen; returns afterwards if the process lives."""
        self._record.write_text(str(time.monotonic()))
        ACTIONS[self._fault.action]()

    def reach(self):
        if self.is_due():
            self.act()


# -- actions ----------------------------------------------------------------------------------------------------------


def _hold_the_gil():
    ctypes.PyDLL(None).sleep(GIL_SECONDS)


def _cut():
    """Takes down the network of this process's namespace, which then reaches no other one, and is not told so."""
    subprocess.run([shutil.which("ip"), "link", "set", "there", "down"], check=True)


ACTIONS = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exit": lambda: os._exit(3),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "gil": _hold_the_gil,
    "cut": _cut,
}


# -- points -----------------------------------------------------------------------------------------------------------


def _before(owner, name, applies=lambda *args: True):
    """Returns a point that is reached before each call of a function with arguments that apply."""

    def install(injector):
        original = getattr(owner, name)

        def call(*args, **kwargs):
            if applies(*args):
                injector.reach()
            return original(*args, **kwargs)

        setattr(owner, name, call)

    return install


class _Halving:
    """A socket of which one send is interrupted by the fault, when half of the bytes are sent."""

    def __init__(self, sock, injector):
        self._socket, self._injector = sock, injector

    def __getattr__(self, name):
        return getattr(self._socket, name)

    def sendall(self, data):
        half = len(data) // 2
        self._socket.sendall(data[:half])
        self._injector.act()
        self._socket.sendall(data[half:])

    def sendmsg(self, buffers):
        content = b"".join(buffers)
        self.sendall(content)
        return len(content)


def _sending(injector):
    """Half of a frame is sent."""
    original = Connection.send

    def send(self, kind, *args, **kwargs):
        whole = self.socket
        if kind in _CARRIED and injector.is_due():
            self.socket = _Halving(whole, injector)
        try:
            original(self, kind, *args, **kwargs)
        finally:
            self.socket = whole

    Connection.send = send


def _receiving(injector):
    """A frame has arrived up to its description, and its values have not been read."""
    original = Connection.receive

    def receive(self):
        frame = original(self)
        if frame.kind in _CARRIED:
            injector.reach()
        return frame

    Connection.receive = receive


def _writing(injector):
    """Half of a block of a checkpoint is written."""
    original = os.write

    def write(file, data):
        if not _is_checkpoint(os.readlink(f"/proc/self/fd/{file}")) or not injector.is_due():
            return original(file, data)
        original(file, memoryview(data)[: len(data) // 2])
        injector.act()
        return len(data) // 2

    os.write = write


def _is_checkpoint(*paths):
    return any("model.ckpt" in str(path) or str(path).endswith("/checkpoint") for path in paths)


def _in_queue_runner(*args):
    return threading.current_thread().name.startswith("QueueRunnerThread")


POINTS = {
    "before a step": _before(HookedSession, "run"),
    "before its part of a step": _before(Worker, "serve"),
    "while sending": _sending,
    "while receiving": _receiving,
    "while saving": _before(Saver, "save"),
    "while writing": _writing,
    "between renames": _before(os, "replace", lambda source, target: _is_checkpoint(target)),
    "while restoring": _before(BundleReader, "read_all_into"),
    "while closing": _before(MonitoredSession, "_close"),
    "while a session is closed": _before(Worker, "delete_session"),
    "in a queue runner": _before(Coordinator, "should_stop", _in_queue_runner),
}
