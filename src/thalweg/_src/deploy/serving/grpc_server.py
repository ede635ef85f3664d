"""TensorFlow Serving's gRPC services: PredictionService, ModelService, and the health check of gRPC."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.formats.message_types import Message
from thalweg._src.deploy.saved_model.signatures import CLASSIFY_METHOD_NAME, REGRESS_METHOD_NAME
from thalweg._src.deploy.serving.access import Access, missing_token
from thalweg._src.deploy.serving.config import models_of
from thalweg._src.deploy.serving.event_loop import EventLoop
from thalweg._src.deploy.serving.grpc_connections import GrpcConnections
from thalweg._src.deploy.serving.inference import examples_of, inputs_of, prediction
from thalweg._src.deploy.serving.limits import BytesInFlight, Endpoint
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.protos import PACKAGE, message_class
from thalweg._src.deploy.serving.service import Call, Service, typed
from thalweg._src.deploy.serving.tensors import write_tensor

_SIGNATURE_DEF = "signature_def"
_SERVING, _NOT_SERVING = 1, 2
_CHECK = "/grpc.health.v1.Health/Check"  # for orchestrators, which have no token: of the whole server
Handler = Callable[[bytes, Any], Awaitable[bytes]]
_FOREVER = 1e6  # seconds


def spec_of(message: Message) -> Spec:
    """Returns what a ModelSpec addresses."""
    choice = message.WhichOneof("version_choice")
    return Spec(
        message.name,
        message.version.value if choice == "version" else None,
        message.version_label if choice == "version_label" else None,
        message.signature_name,
    )


def write_spec(spec: Spec, version: int, message: Message) -> None:
    """Writes which version answers into the ModelSpec of a response."""
    message.name, message.signature_name = spec.name, spec.signature
    message.version.value = version


class Methods:
    """The methods of the services, from request and call to response."""

    def __init__(self, service: Service, loop: EventLoop) -> None:
        self._service = service
        self._loop = loop

    async def predict(self, request: Message, call: Call) -> Any:
        spec = _with_default(spec_of(request.model_spec))
        response = message_class("PredictResponse")()
        with self._service.signature(call, spec) as (version, signature):
            inputs = await self._loop.in_thread_if_large(call.size, inputs_of, request)
            inference = prediction(signature, inputs, request.output_filter, call.deadline)
            outputs = await self._service.predict(call, inference)
        write_spec(spec, version, response.model_spec)
        for name, array in outputs.items():
            write_tensor(array, response.outputs[name])
        return response

    async def classify(self, request: Message, call: Call) -> Any:
        spec = _with_default(spec_of(request.model_spec))
        response = message_class("ClassificationResponse")()
        examples = examples_of(request.input)
        version, classes = await self._service.classify_or_regress(call, spec, CLASSIFY_METHOD_NAME, examples)
        write_spec(spec, version, response.model_spec)
        _write_classes(classes, response.result)
        return response

    async def regress(self, request: Message, call: Call) -> Any:
        spec = _with_default(spec_of(request.model_spec))
        response = message_class("RegressionResponse")()
        examples = examples_of(request.input)
        version, values = await self._service.classify_or_regress(call, spec, REGRESS_METHOD_NAME, examples)
        write_spec(spec, version, response.model_spec)
        _write_values(values, response.result)
        return response

    async def multi_inference(self, request: Message, call: Call) -> Any:
        tasks = [(_with_default(spec_of(task.model_spec)), str(task.method_name)) for task in request.tasks]
        response = message_class("MultiInferenceResponse")()
        version, answers = await self._service.multi_inference(call, tasks, examples_of(request.input))
        for (spec, method), results in zip(tasks, answers):
            result = response.results.add()
            write_spec(spec, version, result.model_spec)
            if method.endswith("classify"):
                _write_classes(results, result.classification_result)
            else:
                _write_values(results, result.regression_result)
        return response

    async def get_model_metadata(self, request: Message, call: Call) -> Any:
        if list(request.metadata_field) != [_SIGNATURE_DEF]:
            raise errors.invalid(
                f"Metadata field: expected [{_SIGNATURE_DEF!r}], received {list(request.metadata_field)}"
            )
        spec = spec_of(request.model_spec)
        response = message_class("GetModelMetadataResponse")()
        version, definitions = self._service.definitions(spec)
        write_spec(spec, version, response.model_spec)
        response.metadata[_SIGNATURE_DEF].Pack(definitions, deterministic=True)
        return response

    async def get_model_status(self, request: Message, call: Call) -> Any:
        if not request.HasField("model_spec"):
            raise errors.invalid("Missing ModelSpec")
        response = message_class("GetModelStatusResponse")()
        for version, status in self._service.manager.status(spec_of(request.model_spec)).items():
            entry = response.model_version_status.add(version=version, state=int(status.state))
            entry.status.SetInParent()
            if status.error is not None:
                entry.status.error_code, entry.status.error_message = status.error.error_code, status.error.message
        return response

    async def handle_reload_config_request(self, request: Message, call: Call) -> Any:
        before = self._service.metrics.totals()
        models = models_of(request.config, "ReloadConfigRequest")
        timeout = None if call.deadline is None else max(0.0, call.deadline - time.monotonic())
        if not await self._loop.in_thread(self._service.reload, models, timeout):
            raise errors.UnknownError(None, None, "a model did not become available; its state says why")
        response = message_class("ReloadConfigResponse")()
        response.status.SetInParent()
        after = self._service.metrics.totals()
        for name in request.metric_names:
            response.metric.add(name=name, int64_value_increase=after.get(name, 0) - before.get(name, 0))
        return response

    async def check(self, request: Message, call: Call) -> Any:
        if request.service not in ("", f"{PACKAGE}.PredictionService", f"{PACKAGE}.ModelService"):
            raise errors.NotFoundError(None, None, f"this server has no service {request.service!r:.200}")
        status = _SERVING if self._service.manager.is_ready() else _NOT_SERVING
        return message_class("HealthCheckResponse")(status=status)


def _with_default(spec: Spec) -> Spec:
    return spec if spec.signature else Spec(spec.name, spec.version, spec.label, "serving_default")


def _write_classes(classes: list[Any], message: Message) -> None:
    message.SetInParent()
    for row in classes:
        classification = message.classifications.add()
        for label, score in row:
            classification.classes.add(label=label, score=score)


def _write_values(values: list[Any], message: Message) -> None:
    message.SetInParent()
    for value in values:
        message.regressions.add(value=value)


# What clients call: service, method, message of the request.
_CALLS = {
    (f"{PACKAGE}.PredictionService", "Predict"): "PredictRequest",
    (f"{PACKAGE}.PredictionService", "Classify"): "ClassificationRequest",
    (f"{PACKAGE}.PredictionService", "Regress"): "RegressionRequest",
    (f"{PACKAGE}.PredictionService", "MultiInference"): "MultiInferenceRequest",
    (f"{PACKAGE}.PredictionService", "GetModelMetadata"): "GetModelMetadataRequest",
    (f"{PACKAGE}.ModelService", "GetModelStatus"): "GetModelStatusRequest",
    (f"{PACKAGE}.ModelService", "HandleReloadConfigRequest"): "ReloadConfigRequest",
    ("grpc.health.v1.Health", "Check"): "HealthCheckRequest",
}


class GrpcServer:
    """A gRPC server at an address.

    Args:
        service: Answers the calls.
        endpoint: Where it listens, to whom and within which limits.
        loop: Where it runs.
        bytes_in_flight: Counts the bytes of requests and answers.
    """

    def __init__(self, service: Service, endpoint: Endpoint, loop: EventLoop, bytes_in_flight: BytesInFlight) -> None:
        self._connections = GrpcConnections(endpoint.limits)
        calls = _Calls(handlers(Methods(service, loop), loop, bytes_in_flight), endpoint.access, self._connections)
        self.port: int = loop.call(self._open(endpoint, calls))

    async def _open(self, endpoint: Endpoint, calls: _Calls) -> int:
        import grpc

        self._server = grpc.aio.server(handlers=[calls], options=_options(endpoint))
        try:
            if endpoint.access.tls is None:
                return int(self._server.add_insecure_port(endpoint.address))
            return int(self._server.add_secure_port(endpoint.address, endpoint.access.grpc_credentials()))
        except RuntimeError as error:
            message = f"the server cannot listen at {endpoint.address}: {error}"
            raise errors.UnavailableError(None, None, message) from None

    async def start(self) -> None:
        """Begins to answer."""
        await self._server.start()
        self._connections.start(self.port)

    async def stop(self, seconds: float) -> None:
        """Takes no further calls, and gives those that are being answered some seconds."""
        await self._server.stop(seconds)
        self._connections.stop()


def _options(endpoint: Endpoint) -> list[tuple[str, int]]:
    """Returns the options of a server; connections are closed by GrpcConnections before there are as many as here."""
    limits = endpoint.limits
    header_ms = round(limits.header_seconds * 1000)
    return [
        ("grpc.max_receive_message_length", endpoint.max_request_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", int(endpoint.reuse_port)),
        ("grpc.max_allowed_incoming_connections", 2 * (limits.connections + limits.unproved)),
        ("grpc.max_concurrent_streams", limits.streams),
        ("grpc.max_metadata_size", limits.header_bytes),
        ("grpc.absolute_max_metadata_size", limits.header_bytes),
        ("grpc.server_handshake_timeout_ms", header_ms),
        ("grpc.http2.settings_timeout", header_ms),
        ("grpc.max_connection_idle_ms", round(limits.idle_seconds * 1000)),
        ("grpc.keepalive_time_ms", round(limits.idle_seconds * 1000)),
        ("grpc.keepalive_timeout_ms", round(limits.transfer_seconds * 1000)),
    ]


class _Calls:
    """What gRPC asks for the handler of a call once it has its metadata; a call without the token has one that refuses.

    Handlers are those of streams, so that a message is read when they ask for it and not before.
    """

    def __init__(self, handlers: dict[str, Handler], access: Access, connections: GrpcConnections) -> None:
        import grpc

        self._access = access
        self._connections = connections
        self._handlers = handlers
        self._methods = {
            path: grpc.stream_unary_rpc_method_handler(self._reading(handle)) for path, handle in handlers.items()
        }
        self._refusal = grpc.stream_unary_rpc_method_handler(self._refuse)
        self._check = grpc.stream_unary_rpc_method_handler(self._answer_check)

    def service(self, details: Any) -> Any:
        """Returns the handler of a call, None if there is no such method."""
        if self._access.token is not None:
            sent = str(dict(details.invocation_metadata).get("authorization", ""))
            if not self._access.has_token(sent.encode()):
                return self._check if details.method == _CHECK else self._refusal
        return self._methods.get(details.method)

    def _reading(self, handle: Handler) -> Callable[[Any, Any], Awaitable[bytes]]:
        async def call(_: Any, context: Any) -> bytes:
            self._connections.call(context.peer(), True)
            content = await context.read()
            return await handle(content if isinstance(content, bytes) else b"", context)

        return call

    async def _answer_check(self, _: Any, context: Any) -> bytes:
        self._connections.ask(context.peer())
        return await self._handlers[_CHECK](b"", context)

    async def _refuse(self, _: Any, context: Any) -> None:
        self._connections.call(context.peer(), False)
        await _abort(context, missing_token("the metadata authorization"))


def handlers(methods: Methods, loop: EventLoop, bytes_in_flight: BytesInFlight) -> dict[str, Handler]:
    """Returns functions from the bytes of a request and its context to those of the response, by the path of a call."""
    return {
        f"/{name}/{method}": _handler(method, request, getattr(methods, _snake(method)), loop, bytes_in_flight)
        for (name, method), request in _CALLS.items()
    }


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def _handler(
    method: str,
    request_name: str,
    answer: Callable[[Any, Call], Awaitable[Any]],
    loop: EventLoop,
    bytes_in_flight: BytesInFlight,
) -> Handler:
    from google.protobuf.message import DecodeError

    async def handle(content: bytes, context: Any) -> bytes:
        held = 0
        try:
            bytes_in_flight.take(len(content))
            held = len(content)
            remaining = context.time_remaining()  # of a call without a limit, centuries
            deadline = None if remaining is None or remaining > _FOREVER else time.monotonic() + remaining
            try:
                request = await loop.in_thread_if_large(len(content), message_class(request_name).FromString, content)
            except DecodeError as error:
                raise errors.invalid(f"the request is not a {request_name}: {error}") from None
            response = await answer(request, Call(method, "GRPC", deadline, len(content)))
            return bytes(response.SerializeToString())
        except Exception as error:
            await _abort(context, typed(error))
            raise  # abort raises
        finally:
            bytes_in_flight.give(held)

    return handle


async def _abort(context: Any, error: errors.OpError) -> None:
    import grpc

    retry = getattr(error, "retry_after", None)
    if retry is not None:
        context.set_trailing_metadata((("grpc-retry-pushback-ms", str(max(1, round(retry * 1000)))),))
    code = next(code for code in grpc.StatusCode if code.value[0] == error.error_code)
    await context.abort(code, error.message)
