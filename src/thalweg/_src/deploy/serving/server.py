"""A model server: models, batching, and the protocols by which clients reach them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from thalweg._src.base import errors
from thalweg._src.base.config import ConfigProto, OptimizerOptions
from thalweg._src.base.export import export
from thalweg._src.deploy.saved_model.files import SERVING
from thalweg._src.deploy.serving.access import Access
from thalweg._src.deploy.serving.batching import Batcher
from thalweg._src.deploy.serving.config import BatchingParameters, Model, checked
from thalweg._src.deploy.serving.event_loop import EventLoop, with_deadline
from thalweg._src.deploy.serving.grpc_server import GrpcServer
from thalweg._src.deploy.serving.inference import Inference, Outputs, warm_up
from thalweg._src.deploy.serving.limits import BytesInFlight, Endpoint, Limits
from thalweg._src.deploy.serving.manager import Manager, Spec
from thalweg._src.deploy.serving.measurement import SIZES, warm_up_latencies
from thalweg._src.deploy.serving.metrics import Metrics
from thalweg._src.deploy.serving.process_settings import process_settings
from thalweg._src.deploy.serving.rest_server import RestServer
from thalweg._src.deploy.serving.servable import Servable
from thalweg._src.deploy.serving.service import Reload, Report, Service

# With a bound on latency: one batch at a time, whose kernels use all cores, so that it is known when each one ends.
LATENCY_BOUND_BATCHING = BatchingParameters(
    max_batch_size=128, allowed_batch_sizes=SIZES, num_batch_threads=1, max_enqueued_batches=1000
)


@export("serving.Options")
@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a server.

    Args:
        host: The name or address that it listens at.
        port: The port of gRPC, 0 for any free one, None for none.
        rest_api_port: The port of REST, 0 for any free one, None for none.
        batching: How requests are put together; None computes each one at once.
        poll_seconds: The time between two looks into the folders of the models.
        max_request_bytes: The limit on the size of a request.
        limits: What clients may take, as `tf.serving.Limits`.
        allowed_hosts: Names by which requests of REST may address the server, besides its own.
        allowed_origins: Web pages that may call it, such as https://example.com.
        threads: How many requests are computed at the same time without batching, and how many large ones are read.
        rest_timeout: The most seconds that a REST request may take.
        latency_bound: The most seconds that any request may take; one that would take longer is refused at once.
            Without batching parameters, batches are as large as the bound allows.
        tags: Those of the graphs to load.
        session_config: A ConfigProto for the sessions of the models.
        log: A function that takes a line for each request, or None.
        trusted: By default models may read files of their own folder while they are loaded, such as assets; False
            refuses those that read any, True allows what `tf.saved_model.load` does then.
        reload_below: Folders below which clients may have models loaded by HandleReloadConfigRequest, besides the
            folders of the models that the server is started with.
        reuse_port: Whether other processes may listen at the same ports. The server then does so once its models are
            loaded, since from that moment it gets its share of the connections.
    """

    host: str = "127.0.0.1"
    port: int | None = 8500
    rest_api_port: int | None = 8501
    batching: BatchingParameters | None = None
    poll_seconds: float = 1.0
    max_request_bytes: int = 1 << 26
    limits: Limits = field(default_factory=Limits)
    allowed_hosts: Sequence[str] = ()
    allowed_origins: Sequence[str] = ()
    threads: int = 64
    rest_timeout: float | None = 30.0
    latency_bound: float | None = None
    tags: Sequence[str] = (SERVING,)
    session_config: Any = None
    log: Callable[[str], None] | None = None
    trusted: bool | None = None
    reload_below: Sequence[str] = ()
    reuse_port: bool = False


@export("serving.Server")
class ModelServer:
    """Serves models over gRPC and REST, as TensorFlow Serving does; a context manager that starts and stops it.

    Args:
        models: The folders of the versions of models, by name, or `tf.serving.Model` objects.
        reload: What HandleReloadConfigRequest calls instead of changing the models of this process alone.
        report: What returns the page for Prometheus instead of the metrics of this process alone.
        **options: The fields of `tf.serving.Options`.
    """

    def __init__(
        self,
        models: Mapping[str, str] | Iterable[Model] = (),
        *,
        reload: Reload | None = None,
        report: Report | None = None,
        **options: Any,
    ) -> None:
        self.options = Options(**options)
        if isinstance(models, Mapping):
            models = [Model(name, str(path)) for name, path in models.items()]
        self._models = checked(models, "models")
        self.metrics = Metrics()
        batching = self.options.batching
        if batching is None and self.options.latency_bound is not None:
            batching = LATENCY_BOUND_BATCHING
        self._batching = batching
        self.manager = Manager(self._load, self.options.poll_seconds, self.options.reload_below)
        threads = self.options.threads
        self._loop = EventLoop(threads, threads if batching is None else batching.num_batch_threads)
        self._batcher = None if batching is None else Batcher(batching, self.metrics, self._loop)
        run = self._run_at_once if self._batcher is None else self._batcher.run
        bound, log = self.options.latency_bound, self.options.log
        self.service = Service(self.manager, run, self.metrics, bound, log, reload, report)
        self._is_started = False
        self._bytes_in_flight = BytesInFlight(self.options.limits.bytes_in_flight)
        self._servers: list[GrpcServer | RestServer] = []
        self.port, self.rest_api_port = self.options.port, self.options.rest_api_port
        if not self.options.reuse_port:
            self._listen()

    def _listen(self) -> None:
        try:
            self._open_ports(self.options)
        except BaseException:
            self.stop()
            raise

    def _open_ports(self, options: Options) -> None:
        host = f"[{options.host}]" if ":" in options.host else options.host
        access = _access(host, options)

        def endpoint(port: int) -> Endpoint:
            return Endpoint(f"{host}:{port}", access, options.limits, options.max_request_bytes, options.reuse_port)

        if options.port is not None:
            grpc = GrpcServer(self.service, endpoint(options.port), self._loop, self._bytes_in_flight)
            self.port = grpc.port
            self._servers.append(grpc)
        if options.rest_api_port is not None:
            rest = RestServer(
                *(self.service, endpoint(options.rest_api_port), options.rest_timeout, self._loop),
                self._bytes_in_flight,
            )
            self.rest_api_port = rest.port
            self._servers.append(rest)

    async def _run_at_once(self, inference: Inference) -> Outputs:
        """Computes an inference, without waiting for others."""
        return await with_deadline(inference.deadline, self._loop.compute(inference.run))

    def _load(self, name: str, version: int, path: str) -> Servable:
        """Loads a version, compiles its signatures and runs them, so that no request has to wait for that."""
        bound = self.options.latency_bound
        servable = Servable(path, self.options.tags, self._session_config(), name, self.options.trusted)
        try:
            warm_up(servable)
            if bound is None or self._batching is None:
                warm_up_latencies(servable, (1,))
            else:
                warm_up_latencies(
                    servable, self._batching.allowed_batch_sizes or (1, self._batching.max_batch_size), bound
                )
        except BaseException:
            servable.close()
            raise
        return servable

    def _session_config(self) -> Any:
        """Returns the settings of sessions; with a bound on latency, nothing is compiled in the background."""
        config = ConfigProto()
        if self.options.session_config is not None:
            config.CopyFrom(self.options.session_config)
        compiling = config.graph_options.optimizer_options
        if self.options.latency_bound is not None and compiling.global_jit_level == OptimizerOptions.DEFAULT:
            compiling.global_jit_level = OptimizerOptions.OFF
        return config

    def load(self, timeout: float | None = None) -> bool:
        """Loads the models; returns whether all of them can be used."""
        self.manager.configure(self._models)
        return self.manager.wait(timeout)

    def start(self, timeout: float | None = None) -> bool:
        """Loads the models and then begins to answer; returns whether all models can be used."""
        if not self._is_started:
            process_settings.acquire()
        self._is_started = True
        is_ready = self.load(timeout)
        self.manager.start()
        if self.options.reuse_port and not self._servers:
            self._listen()
        for server in self._servers:
            self._loop.call(server.start())
        return is_ready

    def describe(self, name: str) -> str:
        """Returns the versions of a model and their states, in words."""
        try:
            statuses = self.manager.status(Spec(name)).items()
        except errors.NotFoundError as error:
            return error.message
        return ", ".join(
            f"version {number} {status.state.name}" + (f" ({status.error})" if status.error else "")
            for number, status in statuses
        )

    def reload(self, models: Iterable[Model]) -> None:
        """Serves these models, and no others."""
        self.manager.configure(checked(models, "models"))

    def stop(self, seconds: float = 10.0) -> None:
        """Takes no further requests, gives those that are being answered some seconds, and frees the models."""
        self._loop.call(self._stop_servers(seconds))
        if self._batcher is not None:
            self._loop.call(self._batcher.close())
        self._loop.close()
        self.manager.close()
        if self._is_started:
            process_settings.release()
        self._is_started = False

    async def _stop_servers(self, seconds: float) -> None:
        await asyncio.gather(*(server.stop(seconds) for server in self._servers))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _access(host: str, options: Options) -> Access:
    """Returns who may call: without credentials, those who address the server by a name that it has."""
    access = Access.find(f"{host}:0")
    hosts = tuple(name.lower() for name in options.allowed_hosts)
    if access.token is None and access.tls is None:
        hosts = (options.host.lower(), *hosts)
    return replace(access, hosts=hosts, origins=tuple(options.allowed_origins))
