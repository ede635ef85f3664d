"""Processes that run peers: started once, asked over pipes, asleep while another one is measured."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import environments

LIMIT_SECONDS = 600  # a peer that gives no answer for so long is ended
WORKER = Path(__file__).with_name("worker.py")


class PeerError(Exception):
    """A peer could not do what it was asked for."""


class Worker:
    """A peer's process; `ask` sends one request and waits for its answer."""

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self._log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115, closed with the worker
        self._process = subprocess.Popen(
            [environments.interpreter(peer), WORKER, peer],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environments.variables(peer),
            text=True,
        )

    @property
    def process(self) -> int:
        return self._process.pid

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Sends a request; a peer that fails or dies raises PeerError with its last words."""
        assert self._process.stdin is not None and self._process.stdout is not None
        watch = threading.Timer(LIMIT_SECONDS, self._process.kill)
        watch.start()
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if not line:
            raise PeerError(f"the process ended: {self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().strip().splitlines()
        return lines[-1] if lines else f"exit status {self._process.wait()}"


def once(peer: str, do: str, **arguments: Any) -> dict[str, Any]:
    """Asks a process that is started for this one request."""
    worker = Worker(peer)
    try:
        return worker.ask(do, **arguments)
    finally:
        worker.close()


def import_seconds(peer: str) -> float:
    """Times `import <library>` in a fresh process, without the start of Python itself."""
    code = f"import time; start = time.perf_counter(); import {peer}; print(time.perf_counter() - start)"
    command = [environments.interpreter(peer), "-c", code]
    done = subprocess.run(command, env=environments.variables(peer), capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerError(done.stderr.strip().splitlines()[-1])
    return float(done.stdout.split()[-1])


@contextmanager
def busy_core() -> Iterator[int]:
    """Keeps one core busy with another process, and gives its number."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()
