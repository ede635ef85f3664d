"""Processes that run peers: started once, controlled over pipes, idle while another one is measured."""

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

LIMIT_SECONDS = 600  # seconds after which a peer that does not answer is killed
WORKER = Path(__file__).with_name("worker.py")
EAGER_WORKER = Path(__file__).with_name("eager_worker.py")


class PeerError(Exception):
    """Raised if a peer fails to serve a request."""


class Worker:
    """A peer's process; `ask` sends a request and waits for the answer."""

    def __init__(self, peer: str, script: Path = WORKER, **variables: str) -> None:
        self.peer = peer
        self._log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115, closed with the worker
        self._process = subprocess.Popen(
            [environments.interpreter(peer), script, peer],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environments.variables(peer) | variables,
            text=True,
        )

    @property
    def processes(self) -> list[int]:
        return [self._process.pid]

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Sends a request; if the peer fails or dies, raises PeerError with its last output."""
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


class EagerWorker(Worker):
    """The process of a peer that executes eagerly."""

    def __init__(self, peer: str) -> None:
        super().__init__(peer, EAGER_WORKER)


def once(peer: str, do: str, **arguments: Any) -> dict[str, Any]:
    """Sends a request to a process that is started only for it."""
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
    """Keeps one core busy with another process, and yields the number of the core."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()
