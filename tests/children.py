"""Child processes of tests: they have the signal handlers of a foreground program, and end with their own children."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.forked import Forked, Template

ROOT = Path(__file__).parents[1]

# A job in the background ignores SIGINT, one of nohup SIGHUP, and what it starts would inherit that. Where the system
# can, a child also ends with this process: it leads a session of its own, so nothing that ends this one's group reaches
# it.
_LAUNCH = """
import ctypes, os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
os.execv(sys.argv[1], sys.argv[1:])
"""


def environment(**variables):
    """Returns the environment of a child that imports thalweg and the tests, and has the packages of this process."""
    before = filter(None, [os.environ.get("PYTHONPATH")])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), *before]), **variables}


def start(command, forked=False, **options):
    """Starts a child; `end` has to be called for it, which the fixture `start_child` does.

    forked: of a Python process that has imported thalweg; see tests/forked.py
    """
    command = list(map(str, command))
    if forked and sys.platform == "linux":
        assert command[0] == sys.executable
        return Forked(_template(), command, **options)
    return subprocess.Popen([sys.executable, "-ISc", _LAUNCH, *command], start_new_session=True, **options)


_templates = []


def _template():
    if not _templates or _templates[-1].process.poll() is not None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        code = f"from tests.forked import serve; serve({theirs.fileno()})"
        options = {"env": environment(OMP_NUM_THREADS="1"), "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        _templates.append(Template(start([sys.executable, "-c", code], pass_fds=[theirs.fileno()], **options), ours))
        theirs.close()
    return _templates[-1]


def templates():
    """Returns the processes from which others have been forked."""
    return list(_templates)


def end_templates():
    while _templates:
        template = _templates.pop()
        template.close()
        end(template.process)


def end(process):
    """Kills a child, if it still runs, and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    if isinstance(process, Forked):
        process.close()


def interrupt(process):
    """Sends SIGINT until a child ends: Python may miss a signal just before its main thread blocks."""
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)


def run(command, check=True, timeout=None, **options):
    """Runs a child to its end and returns its exit status and what it wrote; `check`: the status must be 0."""
    process = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        end(process)
    assert not check or process.returncode == 0, f"exit status {process.returncode}: {err[-3000:]}"
    return subprocess.CompletedProcess(command, process.returncode, out, err)
