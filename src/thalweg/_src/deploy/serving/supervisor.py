"""Supervisor of the worker processes of a model server: starts them, again if they die, and calls all of them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.processes import end_of
from thalweg._src.deploy.serving.config import Model, model_to_json
from thalweg._src.deploy.serving.control_channel import ControlChannel
from thalweg._src.deploy.serving.metrics import add_up
from thalweg._src.deploy.serving.worker import STOP_SECONDS

_MODULE = "thalweg._src.deploy.serving.worker"
_SHORTEST, _LONGEST = 1.0, 30.0  # seconds before a worker that has died is started again
_METRICS_SECONDS = 1.0  # for a worker to return its metrics


@dataclass(slots=True, eq=False)
class _Worker:
    """A process, the channel to it, and the latest page of its metrics."""

    process: subprocess.Popen[bytes]
    channel: ControlChannel
    page: str = ""


class ServingWorkers:
    """Runs several model servers as processes that share their ports.

    Args:
        count: How many.
        models: What they serve.
        options: The fields of `tf.serving.Options` for each of them, as values of JSON.
        drain_seconds: The time for requests that are being computed at the end.
        log: Takes lines about workers that have died.
        environment: The environment variables of the workers.
    """

    def __init__(
        self,
        count: int,
        models: Iterable[Model],
        options: dict[str, Any],
        drain_seconds: float,
        log: Callable[[str], None],
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._count = count
        self._configured = self._models = [model_to_json(model) for model in models]
        self._reloading = asyncio.Lock()
        self._options = options
        self._drain_seconds = drain_seconds
        self._log = log
        self._environment = environment
        self._running: list[_Worker] = []
        self._supervising: list[asyncio.Task[None]] = []
        self._stops = asyncio.Event()
        self._past = ""  # the metrics of workers that have died

    async def start(self) -> list[str]:
        """Starts all workers; returns a line about each model once all workers serve."""
        started = [asyncio.get_running_loop().create_future() for _ in range(self._count)]
        self._supervising = [asyncio.create_task(self._supervise(*worker)) for worker in enumerate(started)]
        lines: list[list[str]] = await asyncio.gather(*started)
        return lines[0]

    async def reload(self, models: Iterable[Model]) -> None:
        """Has all workers serve these models, and no others; does not wait until they can be used."""
        self._configured = self._models = [model_to_json(model) for model in models]
        await self._ask_all("configure", self._models)

    async def stop(self) -> None:
        """Has all workers take no further requests and answer those that they have, and waits for their end."""
        self._stops.set()
        await self._ask_all("stop", None)
        if self._supervising:
            await asyncio.wait(self._supervising, timeout=self._drain_seconds + 2 * STOP_SECONDS)
        await self.kill()

    async def kill(self) -> None:
        """Ends all workers at once."""
        self._stops.set()
        for worker in self._running:
            worker.process.kill()
        await asyncio.gather(*self._supervising)

    async def _ask_all(self, name: str, value: Any) -> list[Any]:
        """Calls a function of all workers; returns their results, errors included, without those that have ended."""
        calls = [worker.channel.call(name, value) for worker in self._running]
        results = await asyncio.gather(*calls, return_exceptions=True)
        return [result for result in results if not isinstance(result, errors.UnavailableError)]

    # -- one worker ---------------------------------------------------------------------------------------------------

    async def _supervise(self, index: int, started: asyncio.Future[list[str]]) -> None:
        """Runs a worker, and another one in its place when it has died."""
        delay = _SHORTEST
        while True:
            begin = time.monotonic()
            end = await self._run(started)
            if self._stops.is_set():
                return
            if not started.done():
                started.set_exception(errors.UnavailableError(None, None, f"worker {index} {end}"))
                return
            delay = _SHORTEST if time.monotonic() - begin > _LONGEST else delay
            self._log(f"worker {index} {end}; starting it again in {delay:.0f} s")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stops.wait(), delay)
                return
            delay = min(2 * delay, _LONGEST)

    async def _run(self, started: asyncio.Future[list[str]]) -> str:
        """Runs a worker; returns how it has ended, in words."""
        ours, theirs = socket.socketpair()
        with theirs:
            worker = _Worker(self._spawn(theirs), ControlChannel({"reload": self._reload, "metrics": self._metrics}))
        await worker.channel.open(ours)
        serving = asyncio.create_task(worker.channel.serve())
        self._running.append(worker)
        settings = {"models": self._configured, "options": self._options, "drain_seconds": self._drain_seconds}
        try:
            lines = await worker.channel.call("start", settings)
            if self._models is not self._configured:
                with contextlib.suppress(errors.OpError):  # the models that are configured stay
                    await worker.channel.call("reload", self._models)
            if not started.done():
                started.set_result(lines)
            await serving
        except errors.OpError as error:
            if not serving.done():
                worker.process.kill()
                return f"cannot start: {error.message}"
        finally:
            await asyncio.to_thread(_wait, worker.process)
            await serving
            self._running.remove(worker)
            self._past = add_up([self._past, worker.page])
        return end_of(worker.process)

    def _spawn(self, end: socket.socket) -> subprocess.Popen[bytes]:
        """Starts a fresh interpreter, since the threads of kernels do not survive a fork."""
        return subprocess.Popen(
            [sys.executable, "-m", _MODULE, str(end.fileno())],
            env=dict(self._environment),
            stdin=subprocess.DEVNULL,
            pass_fds=[end.fileno()],
        )

    # -- what workers call --------------------------------------------------------------------------------------------

    async def _reload(self, request: dict[str, Any]) -> bool:
        """Has all workers serve other models, or none; returns whether they do before the timeout."""
        replacing = asyncio.ensure_future(self._replace(request["models"]))
        done, _ = await asyncio.wait([replacing], timeout=request["timeout"])
        if not done:
            replacing.add_done_callback(lambda task: task.cancelled() or task.exception())  # asyncio would log it
        return bool(done) and replacing.result()

    async def _replace(self, models: list[dict[str, Any]]) -> bool:
        async with self._reloading:
            before, self._models = self._models, models  # also of workers that are started again
            failures = [result for result in await self._ask_all("reload", models) if result is not None]
            if failures:
                self._models = before
                await self._ask_all("reload", before)
                raise failures[0]
            return True

    async def _metrics(self, _: None) -> str:
        return add_up([self._past, *await asyncio.gather(*map(_page, self._running))])


async def _page(worker: _Worker) -> str:
    """Returns the metrics of a worker; if it does not answer, the page that it returned last."""
    with contextlib.suppress(TimeoutError, errors.OpError):
        worker.page = await asyncio.wait_for(worker.channel.call("metrics"), _METRICS_SECONDS)
    return worker.page


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Waits for the end of a process that has closed its channel."""
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def reserved(host: str, port: int | None) -> Iterator[int | None]:
    """Keeps a port for processes that listen at it together; yields its number.

    0 stands for any free port. A port at which a server listens is refused, even one of another supervisor.
    """
    if port is None:
        yield None
        return
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as alone, socket.socket(family) as shared:
        try:
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            alone.bind((host, port))
            port = alone.getsockname()[1]
            alone.close()
            shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            shared.bind((host, port))
        except OSError as error:
            raise errors.UnavailableError(None, None, f"the server cannot listen at {host}:{port}: {error}") from None
        yield port
