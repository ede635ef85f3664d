"""What tests leave behind: child processes, threads and temporary files."""

import gc
import threading
import time
from pathlib import Path

from tests import children

# What serves a whole program, and ends with it; torch's compiler shows its progress and keeps what it made.
_POOLS = ("thalweg", "ThreadPoolExecutor", "tqdm_monitor")
_POLLER = "_poll_wrapper"  # of grpc.aio
_CACHE = "torchinductor_"
_COMPILER = "thalweg._src.runtime.compile.inductor"
_SECONDS = 10  # for what is about to end


def leftovers(threads, folder):
    """Returns what is left, in words, once what is about to end had its time.

    threads: those that were there before
    folder: where temporary files go
    """
    gc.collect()
    until = time.monotonic() + _SECONDS
    while (left := [*_processes(), *_threads(threads)]) and time.monotonic() < until:
        time.sleep(0.05)
    return left + [f"file {path}" for path in Path(folder).iterdir() if not path.name.startswith(_CACHE)]


def _processes():
    templates = [str(template.process.pid) for template in children.templates()]
    for number in [number for parent in ("self", *templates) for number in _children(parent)]:
        if number in templates:
            continue
        try:
            command = Path(f"/proc/{number}/cmdline").read_text().replace("\0", " ").strip()
        except FileNotFoundError:
            continue
        if _COMPILER not in command:
            yield f"process {number}: {command or 'a zombie'}"


def _children(process):
    return " ".join(path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")).split()


def _threads(before):
    for thread in threading.enumerate():
        if thread not in before and not thread.name.startswith(_POOLS) and _POLLER not in thread.name:
            yield f"thread {thread.name}"
