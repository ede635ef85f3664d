"""A worker process of a server: a model server that listens at the ports of others, and obeys a supervisor."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from typing import Any

from thalweg._src.deploy.serving.config import BatchingParameters, Model, model_from_json, model_to_json
from thalweg._src.deploy.serving.control_channel import ControlChannel
from thalweg._src.deploy.serving.limits import Limits
from thalweg._src.deploy.serving.server import ModelServer

STOP_SECONDS = 5.0  # for what is left after the requests were given their time


class Worker:
    """Answers the calls of a supervisor."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._channel = ControlChannel(
            {
                "start": self._start,
                "configure": self._configure,
                "reload": self._reload,
                "metrics": self._metrics,
                "stop": self._stop,
            }
        )
        self._server: asyncio.Future[ModelServer] = self._loop.create_future()
        self._configuring = asyncio.Lock()  # in the order of the calls
        self._stops = asyncio.Event()
        self._drain_seconds = 0.0

    async def run(self, end: socket.socket) -> None:
        """Serves until the supervisor asks for the end, or SIGTERM does; ends at once with the supervisor."""
        for number in (signal.SIGINT, signal.SIGHUP):  # of a terminal, which reach all of its processes
            signal.signal(number, signal.SIG_IGN)
        self._loop.add_signal_handler(signal.SIGTERM, self._stops.set)
        await self._channel.open(end)
        serving = asyncio.create_task(self._channel.serve())
        serving.add_done_callback(lambda _: self._stops.is_set() or os._exit(1))
        await self._stops.wait()
        if not self._server.done():
            os._exit(0)  # a load cannot be interrupted, and has no requests
        limit = threading.Timer(self._drain_seconds + STOP_SECONDS, os._exit, [0])
        limit.daemon = True
        limit.start()
        await asyncio.to_thread(self._server.result().stop, self._drain_seconds)

    async def _start(self, settings: dict[str, Any]) -> list[str]:
        """Loads the models, then listens; returns a line about each model."""
        self._drain_seconds = settings["drain_seconds"]
        models, options = map(model_from_json, settings["models"]), _options(settings["options"])
        server = ModelServer(models, reload=self._reload_all, report=self._report_all, **options)
        await asyncio.to_thread(server.start)
        self._server.set_result(server)
        return [f"{name}: {server.describe(name)}" for name in server.manager.models()]

    async def _configure(self, models: list[dict[str, Any]]) -> None:
        """Serves other models, as the configuration says."""
        server = await asyncio.shield(self._server)
        async with self._configuring:
            await asyncio.to_thread(server.manager.configure, list(map(model_from_json, models)))

    async def _reload(self, models: list[dict[str, Any]]) -> None:
        """Serves other models, as a client asks for, once all of them can be used."""
        server = await asyncio.shield(self._server)
        await asyncio.to_thread(server.manager.reload, list(map(model_from_json, models)))

    async def _metrics(self, _: None) -> str:
        return self._server.result().metrics.text() if self._server.done() else ""

    async def _stop(self, _: None) -> None:
        self._stops.set()

    def _reload_all(self, models: Sequence[Model], timeout: float | None) -> bool:
        """Has the supervisor reload all workers."""
        request = {"models": [model_to_json(model) for model in models], "timeout": timeout}
        return bool(asyncio.run_coroutine_threadsafe(self._channel.call("reload", request), self._loop).result())

    async def _report_all(self) -> str:
        """Has the supervisor add up the metrics of all workers."""
        call = asyncio.run_coroutine_threadsafe(self._channel.call("metrics"), self._loop)
        return str(await asyncio.wrap_future(call))


def _options(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of Options that a supervisor has sent."""
    if options["batching"] is not None:
        sizes = tuple(options["batching"]["allowed_batch_sizes"])
        options["batching"] = BatchingParameters(**{**options["batching"], "allowed_batch_sizes": sizes})
    options["limits"] = Limits(**options["limits"])
    options["log"] = _write_line if options["log"] else None
    return {**options, "reuse_port": True}


def _write_line(line: str) -> None:
    sys.stderr.write(f"{line}\n")


async def _run(descriptor: int) -> None:
    end = socket.socket(fileno=descriptor)
    end.set_inheritable(False)  # a process that this one starts would keep the channel open
    await Worker().run(end)


if __name__ == "__main__":
    asyncio.run(_run(int(sys.argv[1])))
