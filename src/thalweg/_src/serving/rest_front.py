"""The REST API: TensorFlow Serving's, the Open Inference Protocol, and metrics, as an ASGI application."""

from __future__ import annotations

import asyncio
import hmac
import re
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote

from thalweg._src import errors
from thalweg._src.serving import open_inference, rest_json
from thalweg._src.serving.access import Access, missing_token
from thalweg._src.serving.event_loop import EventLoop
from thalweg._src.serving.grpc_front import write_spec
from thalweg._src.serving.json_text import dumps, parse
from thalweg._src.serving.manager import Spec
from thalweg._src.serving.protos import message_class
from thalweg._src.serving.servable import Signature
from thalweg._src.serving.service import CODES, Call, Service, typed
from thalweg._src.serving.tensors import Array

_CALL = re.compile(
    r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?:(?P<method>\w+)"
)
_LOOK = re.compile(
    r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?(?P<what>/metadata)?"
)
_METRICS = ("/metrics", "/monitoring/prometheus/metrics")
HTTP_STATUS = {
    **{errors.OK: 200, errors.CANCELLED: 499, errors.INVALID_ARGUMENT: 400, errors.DEADLINE_EXCEEDED: 504},
    **{errors.NOT_FOUND: 404, errors.ALREADY_EXISTS: 409, errors.PERMISSION_DENIED: 403, errors.UNAUTHENTICATED: 401},
    **{errors.RESOURCE_EXHAUSTED: 429, errors.FAILED_PRECONDITION: 400, errors.ABORTED: 409, errors.OUT_OF_RANGE: 400},
    **{errors.UNIMPLEMENTED: 501, errors.UNAVAILABLE: 503},
}
_TOO_LARGE = 413
_MAX_CONNECTIONS = 4096
Headers = list[tuple[bytes, bytes]]
Answer = tuple[int, Headers, bytes]


class RestApplication:
    """Answers HTTP requests; called as an ASGI application.

    Args:
      service: Answers the calls.
      access: Who may call.
      max_body_bytes: The limit on the size of a request.
      timeout: The most seconds that a request may take, or None.
      loop: Where it runs.
    """

    def __init__(
        self, service: Service, access: Access, max_body_bytes: int, timeout: float | None, loop: EventLoop
    ) -> None:
        self._service = service
        self._token = None if access.token is None else b"Bearer " + access.token
        self._limit = max_body_bytes
        self._timeout = timeout
        self._loop = loop

    async def __call__(
        self,
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[dict[str, Any]]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        if scope["type"] != "http":
            return
        start = time.monotonic()
        deadline = None if self._timeout is None else start + self._timeout
        content = await self._read(scope, receive)
        if content is None:
            text = f"the request has more than {self._limit} bytes"
            status, headers, body = _TOO_LARGE, _JSON, dumps({"error": text})
        else:
            status, headers, body = await self.answer(scope, content, deadline)
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
        await send({"type": "http.response.body", "body": body})

    async def _read(self, scope: dict[str, Any], receive: Callable[[], Awaitable[dict[str, Any]]]) -> bytes | None:
        """Returns the body of a request, None if it is too large; no more than the limit is kept."""
        parts, size, more = [], 0, True
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced[:20]) > self._limit:
            return None
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                break
            part = message.get("body", b"")
            size += len(part)
            if size > self._limit:
                return None
            parts.append(part)
            more = message.get("more_body", False)
        return b"".join(parts)

    async def answer(self, scope: dict[str, Any], content: bytes, deadline: float | None) -> Answer:
        """Returns status, headers and body of the response."""
        method, path = scope["method"], (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        try:
            if self._token is not None:
                given = dict(scope["headers"]).get(b"authorization", b"")
                if not hmac.compare_digest(given, self._token) and path not in ("/v2/health/live", "/v2/health/ready"):
                    raise missing_token("the header authorization")
            if path in _METRICS and method == "GET":
                return 200, _TEXT, (await self._service.report()).encode()
            if path == "/v2" or path.startswith("/v2/"):
                found = await open_inference.answer(self._service, self._loop, method, unquote(path), content, deadline)
                return 200, _JSON, dumps(found)
            return 200, _JSON, await self._answer(method, path, content, deadline)
        except Exception as error:
            return _failure(typed(error))

    async def _answer(self, method: str, path: str, content: bytes, deadline: float | None) -> bytes:
        if method == "POST" and (found := _CALL.fullmatch(path)):
            body = await self._loop.apart_if_large(len(content), parse, content)
            return await self._call(found["method"], _spec(found), body, len(content), deadline)
        if method == "GET" and (found := _LOOK.fullmatch(path)):
            return dumps(self._metadata(_spec(found)) if found["what"] else self._status(_spec(found)))
        raise errors.invalid(f"Malformed request: {method} {path[:200]}")

    async def _call(self, method: str, spec: Spec, body: dict[str, Any], size: int, deadline: float | None) -> bytes:
        """Returns the answer to a call; size: of the body in bytes."""
        spec = Spec(spec.name, spec.version, spec.label, rest_json.signature_of(body))
        call = Call(method.title(), "REST", deadline)
        if method == "predict":
            as_rows = rest_json.is_row_format(body)

            async def read(signature: Signature) -> Mapping[str, Array]:
                return await self._loop.apart_if_large(size, rest_json.read_inputs, body, signature)

            _, outputs = await self._service.predict(call, spec, read)
            written = sum(array.nbytes for array in outputs.values())
            return await self._loop.apart_if_large(written, lambda: dumps(rest_json.write_outputs(outputs, as_rows)))
        if method == "classify":
            _, classes = await self._service.classify(call, spec, rest_json.read_examples(body))
            return dumps(rest_json.write_classes(classes))
        if method == "regress":
            _, values = await self._service.regress(call, spec, rest_json.read_examples(body))
            return dumps(rest_json.write_values(values))
        raise errors.invalid(f"Malformed request: expected :predict, :classify or :regress, received :{method:.50}")

    def _status(self, spec: Spec) -> dict[str, Any]:
        found = []
        for version, status in self._service.manager.status(spec).items():
            code, text = (errors.OK, "") if status.error is None else (status.error.error_code, status.error.message)
            told = {"error_code": CODES[code], "error_message": text}
            found.append({"version": str(version), "state": status.state.name, "status": told})
        return {"model_version_status": found}

    def _metadata(self, spec: Spec) -> dict[str, Any]:
        from google.protobuf import json_format

        version, definitions = self._service.definitions(spec)
        message = message_class("ModelSpec")()
        write_spec(spec, version, message)

        def plain(message: Any) -> Any:
            return json_format.MessageToDict(
                message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
            )

        return {"model_spec": plain(message), "metadata": {"signature_def": plain(definitions)}}


_JSON: Headers = [(b"content-type", b"application/json")]
_TEXT: Headers = [(b"content-type", b"text/plain; version=0.0.4")]


def _spec(found: re.Match[str]) -> Spec:
    version = found["version"]
    if version is not None and len(version) > 18:
        raise errors.invalid(f"Failed to convert version: {version:.50} to numeric.")
    label = None if found["label"] is None else unquote(found["label"])
    return Spec(unquote(found["name"]), None if version is None else int(version), label)


def _failure(error: errors.OpError) -> Answer:
    retry = getattr(error, "retry_after", None)
    headers = [] if retry is None else [(b"retry-after", str(max(1, round(retry))).encode())]
    return HTTP_STATUS.get(error.error_code, 500), [*_JSON, *headers], dumps({"error": error.message})


class RestFront:
    """An HTTP server at an address.

    Args:
      service: Answers the calls.
      address: Host and port; the port 0 stands for any free one.
      access: Who may call.
      max_body_bytes: The limit on the size of a request.
      timeout: The most seconds that a request may take, or None.
      loop: Where it runs.
      reuse_port: Whether other processes may listen at the same address.
    """

    def __init__(
        self,
        service: Service,
        address: str,
        access: Access,
        max_body_bytes: int,
        timeout: float | None,
        loop: EventLoop,
        reuse_port: bool = False,
    ) -> None:
        try:
            import uvicorn
        except ModuleNotFoundError:
            message = "REST needs uvicorn: pip install thalweg[serving], or do without (rest_api_port=None)"
            raise errors.FailedPreconditionError(None, None, message) from None
        host, _, port = address.rpartition(":")
        try:
            family = socket.AF_INET6 if ":" in host.strip("[]") else socket.AF_INET
            self._socket = socket.create_server(
                (host.strip("[]"), int(port)), family=family, backlog=1024, reuse_port=reuse_port
            )
        except OSError as error:
            raise errors.UnavailableError(None, None, f"the server cannot listen at {address}: {error}") from None
        self.port: int = self._socket.getsockname()[1]
        application = RestApplication(service, access, max_body_bytes, timeout, loop)
        settings = uvicorn.Config(
            application, log_config=None, access_log=False, lifespan="off", ws="none", proxy_headers=False
        )
        settings.limit_concurrency = _MAX_CONNECTIONS
        settings.load()
        if access.tls is not None:
            settings.ssl = access.tls.context(is_server=True)
        self._settings = settings
        self._server = uvicorn.Server(settings)
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begins to answer."""
        self._serving = asyncio.create_task(self._server.serve([self._socket]))

    async def stop(self, seconds: float) -> None:
        """Takes no further requests, and gives those that are being answered some seconds."""
        self._settings.timeout_graceful_shutdown = max(1, round(seconds))
        self._server.should_exit = True
        if self._serving is not None:
            await self._serving
        self._socket.close()
