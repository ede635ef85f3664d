"""Child processes that start in milliseconds: forked from a template, a process that has imported thalweg already.

They differ from a fresh Python in what is imported, and share the seed of string hashes. A test that is about either,
or about how the interpreter starts, starts a fresh one.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import runpy
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_STATUS = struct.Struct("i")
_OPENED = {"stdin": "w", "stdout": "r", "stderr": "r"}


class Template:
    """The process that children are forked from: it has one thread, and ends with this process."""

    def __init__(self, process: Any, ours: socket.socket) -> None:
        self.process = process
        self._socket = ours
        self.descriptor = os.readlink(f"/proc/self/fd/{ours.fileno()}")

    def fork(self, request: Any, files: list[int]) -> None:
        socket.send_fds(self._socket, [pickle.dumps(request)], files)

    def close(self) -> None:
        self._socket.close()


class Forked:
    """A forked child, with what tests use of subprocess.Popen."""

    def __init__(
        self,
        template: Template,
        command: list[str],
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        text: bool = False,
        cwd: Any = None,
        env: dict[str, str] | None = None,
    ) -> None:
        self.args = command
        self.returncode: int | None = None
        theirs, close = [], []
        for number, (name, wanted) in enumerate(zip(_OPENED, (stdin, stdout, stderr))):
            stream = None
            if wanted == subprocess.PIPE:
                ends = os.pipe() if name != "stdin" else os.pipe()[::-1]
                stream = open(ends[0], _OPENED[name] + ("" if text else "b"), buffering=-1 if text else 0)  # noqa: SIM115
                wanted = ends[1]
                close.append(wanted)
            elif wanted == subprocess.DEVNULL:
                wanted = os.open(os.devnull, os.O_RDWR)
                close.append(wanted)
            elif wanted == subprocess.STDOUT:
                wanted = theirs[1]
            theirs.append(number if wanted is None else wanted if isinstance(wanted, int) else wanted.fileno())
            setattr(self, name, stream)
        self._status, guard = socket.socketpair()
        template.fork((command[1:], str(cwd or os.getcwd()), env or dict(os.environ)), [guard.fileno(), *theirs])
        guard.close()
        for file in close:
            os.close(file)
        self.pid = self._receive()

    def _receive(self) -> int:
        data = self._status.recv(_STATUS.size)
        assert data, f"the template could not start {self.args}"
        return _STATUS.unpack(data)[0]

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._status.settimeout(timeout)
            try:
                self.returncode = self._receive()
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
        return self.returncode

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def communicate(self, timeout: float | None = None) -> tuple[Any, Any]:
        """Returns what the child writes until it ends."""
        until = None if timeout is None else time.monotonic() + timeout
        if self.stdin is not None:
            self.stdin.close()
        written: dict[Any, bytes] = {stream: b"" for stream in (self.stdout, self.stderr) if stream is not None}
        with selectors.DefaultSelector() as selector:
            for stream in written:
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select(None if until is None else max(0.0, until - time.monotonic())):
                    if data := os.read(key.fd, 1 << 16):
                        written[key.fileobj] += data
                    else:
                        selector.unregister(key.fileobj)
                if until is not None and time.monotonic() > until:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(None if until is None else max(0.0, until - time.monotonic()))
        return self._text(self.stdout, written), self._text(self.stderr, written)

    def _text(self, stream: Any, written: dict[Any, bytes]) -> Any:
        return written[stream].decode() if hasattr(stream, "encoding") else written.get(stream)

    def close(self) -> None:
        """Frees the number of the child, which has ended."""
        self._status.close()


# -- in the template --------------------------------------------------------------------------------------------------


def serve(file: int) -> None:
    """Forks children as requested, until the process that requests them ends; returns in each of the children."""
    import thalweg  # noqa: F401

    assert len(os.listdir("/proc/self/task")) == 1, "threads do not outlive a fork"
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # guards are not waited for
    requests = socket.socket(fileno=file)
    while True:
        data, files, _, _ = socket.recv_fds(requests, 1 << 20, 4)
        if not data:
            os._exit(0)
        if os.fork() == 0:
            requests.close()
            return _guard(pickle.loads(data), files)
        for other in files:
            os.close(other)


def _guard(request: Any, files: list[int]) -> None:
    """Forks the child, reports its number and its exit status, and keeps the number taken while it is in use."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _end_with_parent()
    child = os.fork()
    if child == 0:
        os.close(files[0])
        return _run(request, files[1:])
    status = socket.socket(fileno=files[0])
    for other in (0, 1, 2, *files[1:]):
        os.close(other)
    status.send(_STATUS.pack(child))
    ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    status.send(_STATUS.pack(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status))
    status.recv(1)
    os.waitpid(child, 0)
    os._exit(0)


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _run(request: Any, files: list[int]) -> None:
    """Runs what a command line names, as the interpreter does."""
    import numpy as np
    import torch

    os.setsid()
    _end_with_parent()
    for number, file in enumerate(files):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    (first, *rest), folder, environment = request
    os.chdir(folder)
    installed = [path for path in sys.path if path not in ("", *os.environ["PYTHONPATH"].split(os.pathsep))]
    os.environ.clear()
    os.environ.update(environment)
    np.random.seed()
    torch.seed()
    program = sys.modules["__main__"].__dict__
    paths = [path for path in dict.fromkeys(environment.get("PYTHONPATH", "").split(os.pathsep)) if path]
    if first == "-c":
        sys.argv, sys.path = ["-c", *rest[1:]], ["", *paths, *installed]
        exec(compile(rest[0], "<string>", "exec"), program)
    elif first == "-m":
        sys.argv, sys.path = rest, [folder, *paths, *installed]
        runpy._run_module_as_main(rest[0])  # by which the interpreter runs modules
    else:
        sys.argv, sys.path = [first, *rest], [os.path.dirname(os.path.abspath(first)), *paths, *installed]
        program["__file__"] = first
        exec(compile(Path(first).read_bytes(), first, "exec"), program)
