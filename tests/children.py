"""Child processes of tests: they have the signal handlers of a foreground program, and end with their own children."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

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


def start(command, **options):
    """Starts a child; `end` has to be called for it, which the fixture `start_child` does."""
    command = [sys.executable, "-ISc", _LAUNCH, *map(str, command)]
    return subprocess.Popen(command, start_new_session=True, **options)


def end(process):
    """Kills a child, if it still runs, and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


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
