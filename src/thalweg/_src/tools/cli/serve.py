"""`thalweg serve`: models behind gRPC and REST, as TensorFlow Serving offers them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import click

from thalweg._src.base.errors import OpError
from thalweg._src.base.processes import usable_cores
from thalweg._src.deploy.serving import plan as serving_plan
from thalweg._src.deploy.serving.access import Access
from thalweg._src.deploy.serving.config import BatchingParameters, Model, read_batching, read_models
from thalweg._src.deploy.serving.limits import Limits
from thalweg._src.deploy.serving.server import ModelServer, Options
from thalweg._src.deploy.serving.supervisor import ServingWorkers, reserved
from thalweg._src.deploy.serving.worker import STOP_SECONDS
from thalweg._src.tools.cli.cluster import THREADS
from thalweg._src.tools.cli.signal_pipe import signal_pipe

_PORT = click.IntRange(-1, 65535)
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


class _Seconds(click.ParamType[float]):
    """A duration with a unit, such as 5ms, in seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Returns the seconds of a text."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s)", str(value))
        if match is None or not float(match[1]):
            self.fail(f"expected a number with the unit us, ms or s, such as 5ms, received {value!r}", param, ctx)
        return float(match[1]) * _UNITS[match[2]]


@click.command("serve")
@click.option("--model", "models", multiple=True, metavar="NAME=PATH", help="A model, and the folder of its versions.")
@click.option("--model_name", default="default", show_default=True, help="The name of the model at --model_base_path.")
@click.option("--model_base_path", help="The folder of the versions of one model.")
@click.option(
    "--model_config_file", type=click.Path(path_type=Path), help="The models, in TensorFlow Serving's format."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=_PORT, default=8500, show_default=True, help="Of gRPC; 0 is any free one, -1 none.")
@click.option("--rest_api_port", type=_PORT, default=8501, show_default=True, help="Of REST, in the same way.")
@click.option("--enable_batching", is_flag=True, help="Compute several requests together.")
@click.option("--batching_parameters_file", type=click.Path(path_type=Path), help="Sizes and timeouts of batches.")
@click.option(
    "--file_system_poll_wait_seconds", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True,
    help="The time between looks for new versions.",
)  # fmt: skip
@click.option("--rest_api_timeout_in_ms", type=click.IntRange(min=1), default=30000, show_default=True, help="Of REST.")
@click.option(
    "--max_request_bytes", type=click.IntRange(min=1), default=1 << 26, show_default=True, help="The largest request."
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=NUMBER",
    help="A field of tf.serving.Limits, such as connections=100.",
)
@click.option("--allowed_host", "hosts", multiple=True, help="A name by which REST requests may address the server.")
@click.option(
    "--allowed_origin", "origins", multiple=True, help="Web pages that may call, such as https://example.com."
)
@click.option("--latency-bound", "--latency_bound", type=_Seconds(), help="Refuse what would take longer, such as 5ms.")
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, show_default=True,
    help="Processes that share ports, cores and mapped weights.",
)  # fmt: skip
@click.option("--plan", is_flag=True, help="Measure the models, print what the latency bound allows, and end.")
@click.option(
    "--trusted/--untrusted", default=None,
    help="Whether models may reach any file, or read none. [default: those of their own folder, while they are loaded]",
)  # fmt: skip
@click.option(
    "--reload-below", "--reload_below", multiple=True, metavar="FOLDER",
    help="Where clients may have models loaded from, besides the folders of those that are served at the start.",
)  # fmt: skip
@click.option("--access_log", is_flag=True, help="Write a line for each request to standard error.")
@click.option("--drain_seconds", type=click.FloatRange(min=0), default=10.0, show_default=True, help="After SIGTERM.")
def serve_command(
    models: tuple[str, ...],
    model_name: str,
    model_base_path: str | None,
    model_config_file: Path | None,
    host: str,
    port: int,
    rest_api_port: int,
    enable_batching: bool,
    batching_parameters_file: Path | None,
    file_system_poll_wait_seconds: float,
    rest_api_timeout_in_ms: int,
    max_request_bytes: int,
    limits: tuple[str, ...],
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    latency_bound: float | None,
    workers: int,
    plan: bool,
    trusted: bool | None,
    reload_below: tuple[str, ...],
    access_log: bool,
    drain_seconds: float,
) -> None:
    """Serve SavedModels over gRPC and REST until SIGTERM or Ctrl-C.

    The options are those of TensorFlow Serving, and so are the protocols; /v2 is the Open Inference Protocol, /metrics
    for Prometheus. SIGHUP reads --model_config_file again. After SIGTERM no further requests are taken, and those that
    are being computed are answered. A server that other machines can reach needs credentials in its environment, such
    as THALWEG_SERVING_TOKEN. With several --workers, one that dies is started again, and HandleReloadConfigRequest and
    /metrics stand for all of them.
    """

    def configured() -> list[Model]:
        return _models(models, model_name, model_base_path, model_config_file)

    try:
        batching = None
        if batching_parameters_file is not None:
            batching = read_batching(batching_parameters_file.read_text(), str(batching_parameters_file))
        elif enable_batching:
            batching = BatchingParameters()
        options = Options(
            host=host,
            port=None if port < 0 else port,
            rest_api_port=None if rest_api_port < 0 else rest_api_port,
            batching=batching,
            poll_seconds=file_system_poll_wait_seconds,
            rest_timeout=rest_api_timeout_in_ms / 1000,
            max_request_bytes=max_request_bytes,
            limits=Limits.parse(limits),
            allowed_hosts=hosts,
            allowed_origins=origins,
            latency_bound=latency_bound,
            log=_write_line if access_log else None,
            trusted=trusted,
            reload_below=reload_below,
        )
        if workers > 1 and not plan:
            sys.exit(_serve_with_workers(workers, configured, options, drain_seconds))
        server = ModelServer(configured(), **{field.name: getattr(options, field.name) for field in fields(options)})
    except (OpError, OSError, ValueError) as error:
        raise click.ClickException(f"the server cannot start: {error}") from None
    if plan:
        if latency_bound is None:
            raise click.UsageError("--plan needs --latency-bound")
        server.load()
        for line in serving_plan.plan(server, latency_bound):
            click.echo(line)
        server.stop()
        return
    sys.exit(_serve(server, configured, drain_seconds))


def _models(options: tuple[str, ...], name: str, base_path: str | None, config: Path | None) -> list[Model]:
    """Returns the models of the options and of the configuration file."""
    models = []
    for option in options:
        key, equals, path = option.partition("=")
        if not (key and equals and path):
            raise ValueError(f"--model: expected NAME=PATH, received {option!r}")
        models.append(Model(key, path))
    if base_path is not None:
        models.append(Model(name, base_path))
    if config is not None:
        models.extend(read_models(config.read_text(), str(config)))
    if not models:
        raise ValueError("there is no model: give --model NAME=PATH, --model_base_path or --model_config_file")
    return models


def _write_line(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _serve(server: ModelServer, configured: Callable[[], list[Model]], drain_seconds: float) -> int:
    """Serves until SIGTERM or SIGINT; returns the exit status of the process."""
    is_started = False
    signals = signal_pipe(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    received: SimpleQueue[int] = SimpleQueue()

    def watch() -> None:
        while True:
            number = _next_signal(signals)
            if not is_started and number != signal.SIGHUP:
                os._exit(_status(number))  # nothing is being answered, and a load takes as long as its model likes
            received.put(number)

    # On a thread: the main one may load for ever, and another thread may get a signal that follows another one soon.
    threading.Thread(target=watch, name="thalweg signals", daemon=True).start()
    server.start()
    is_started = True
    lines = [f"{name}: {server.describe(name)}" for name in server.manager.models()]
    _announce(lines, server.options.host, server.port, server.rest_api_port)
    while (number := received.get()) == signal.SIGHUP:
        with _reporting():
            server.reload(configured())
    status = _status(number)
    limit = threading.Timer(drain_seconds + STOP_SECONDS, os._exit, [status])  # what never ends cannot hold it
    limit.daemon = True
    limit.start()
    server.stop(drain_seconds)
    limit.cancel()
    return status


def _status(number: int) -> int:
    """Returns the exit status of a process that a signal ended."""
    return 128 + signal.SIGINT if number == signal.SIGINT else 0


def _announce(lines: Iterable[str], host: str, grpc: int | None, rest: int | None) -> None:
    """Writes what is served, and where."""
    for line in lines:
        click.echo(line)
    ports = {"gRPC": grpc, "REST": rest}
    click.echo("serving " + ", ".join(f"{name} at {host}:{port}" for name, port in ports.items() if port is not None))
    sys.stdout.flush()


@contextlib.contextmanager
def _reporting() -> Iterator[None]:
    """Writes whether another configuration was taken."""
    try:
        yield
        click.echo("the configuration was read again")
    except (OpError, OSError, ValueError) as error:
        click.echo(f"thalweg: the configuration stays as it was: {error}", err=True)
    sys.stdout.flush()


def _next_signal(signals: int) -> int:
    select.select([signals], [], [])
    return os.read(signals, 1)[0]


def _serve_with_workers(
    count: int, configured: Callable[[], list[Model]], options: Options, drain_seconds: float
) -> int:
    """Serves with several processes until SIGTERM or SIGINT; returns the exit status of this one."""
    if not hasattr(socket, "SO_REUSEPORT"):
        raise ValueError("--workers: on this system, processes cannot share a port")
    host = options.host
    Access.find(f"[{host}]:0" if ":" in host else f"{host}:0")  # refuses a server that lacks credentials
    threads = max(1, usable_cores() // count)
    environment = {**os.environ, THREADS: os.environ.get(THREADS) or str(threads)}
    batching = options.batching
    if batching is None and options.latency_bound is not None:
        batching = BatchingParameters(max_batch_size=1, num_batch_threads=threads)
    with reserved(host, options.port) as grpc, reserved(host, options.rest_api_port) as rest:
        bound_options = replace(options, port=grpc, rest_api_port=rest, batching=batching)
        settings = {**asdict(bound_options), "log": options.log is not None}

        def log(line: str) -> None:
            _write_line(f"thalweg: {line}")

        workers = ServingWorkers(count, configured(), settings, drain_seconds, log, environment)
        return asyncio.run(_supervise(workers, configured, lambda lines: _announce(lines, host, grpc, rest)))


async def _supervise(
    workers: ServingWorkers, configured: Callable[[], list[Model]], announce: Callable[[list[str]], None]
) -> int:
    """Runs workers until SIGTERM or SIGINT; returns the exit status."""
    loop = asyncio.get_running_loop()
    signals = signal_pipe(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    hangups: asyncio.Queue[int] = asyncio.Queue()
    stopped: asyncio.Future[int] = loop.create_future()

    def receive() -> None:
        for number in os.read(signals, 256):
            if number == signal.SIGHUP:
                hangups.put_nowait(number)
            elif not stopped.done():
                stopped.set_result(number)

    async def serve() -> None:
        announce(await workers.start())
        while await hangups.get():
            with _reporting():
                await workers.reload(configured())

    loop.add_reader(signals, receive)
    serving = asyncio.create_task(serve())
    ends: set[asyncio.Future[Any]] = {serving, stopped}
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        await workers.kill()
        serving.result()  # raises
    serving.cancel()
    await workers.stop()
    return _status(stopped.result())
