"""The REST API: TensorFlow Serving's, the Open Inference Protocol, and metrics, as an ASGI application."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote

from thalweg._src import errors
from thalweg._src.serving import open_inference, rest_json
from thalweg._src.serving.access import Access, missing_token
from thalweg._src.serving.grpc_front import write_spec
from thalweg._src.serving.json_values import parse
from thalweg._src.serving.manager import Spec
from thalweg._src.serving.protos import message_class
from thalweg._src.serving.service import CODES, Call, Service, typed

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
      pool: The threads that answer.
    """

    def __init__(
        self, service: Service, access: Access, max_body_bytes: int, timeout: float | None, pool: ThreadPoolExecutor
    ) -> None:
        self._service = service
        self._token = None if access.token is None else b"Bearer " + access.token
        self._limit = max_body_bytes
        self._timeout = timeout
        self._pool = pool

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
            status, headers, body = _TOO_LARGE, _JSON, json.dumps({"error": text}).encode()
        else:
            loop = asyncio.get_running_loop()
            status, headers, body = await loop.run_in_executor(self._pool, self.answer, scope, content, deadline)
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

    def answer(self, scope: dict[str, Any], content: bytes, deadline: float | None) -> Answer:
        """Returns status, headers and body of the response."""
        method, path = scope["method"], (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        try:
            if self._token is not None:
                given = dict(scope["headers"]).get(b"authorization", b"")
                if not hmac.compare_digest(given, self._token) and path not in ("/v2/health/live", "/v2/health/ready"):
                    raise missing_token("the header authorization")
            if path in _METRICS and method == "GET":
                return 200, [(b"content-type", b"text/plain; version=0.0.4")], self._service.metrics.text().encode()
            if path == "/v2" or path.startswith("/v2/"):
                found = open_inference.answer(self._service, method, unquote(path), content, deadline)
            else:
                found = self._answer(method, path, content, deadline)
            return 200, _JSON, _dumps(found)
        except Exception as error:
            return _failure(typed(error))

    def _answer(self, method: str, path: str, content: bytes, deadline: float | None) -> dict[str, Any]:
        if method == "POST" and (found := _CALL.fullmatch(path)):
            return self._call(found["method"], _spec(found), parse(content), deadline)
        if method == "GET" and (found := _LOOK.fullmatch(path)):
            return self._metadata(_spec(found)) if found["what"] else self._status(_spec(found))
        raise errors.invalid(f"Malformed request: {method} {path[:200]}")

    def _call(self, method: str, spec: Spec, body: dict[str, Any], deadline: float | None) -> dict[str, Any]:
        spec = Spec(spec.name, spec.version, spec.label, rest_json.signature_of(body))
        call = Call(method.title(), "REST", deadline)
        if method == "predict":
            as_rows = rest_json.is_row_format(body)
            _, outputs = self._service.predict(call, spec, lambda signature: rest_json.read_inputs(body, signature))
            return rest_json.write_outputs(outputs, as_rows)
        if method == "classify":
            return rest_json.write_classes(self._service.classify(call, spec, rest_json.read_examples(body))[1])
        if method == "regress":
            return rest_json.write_values(self._service.regress(call, spec, rest_json.read_examples(body))[1])
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


def _dumps(found: dict[str, Any]) -> bytes:
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace")  # halves of a character, which a request may hold


def _spec(found: re.Match[str]) -> Spec:
    version = found["version"]
    if version is not None and len(version) > 18:
        raise errors.invalid(f"Failed to convert version: {version:.50} to numeric.")
    label = None if found["label"] is None else unquote(found["label"])
    return Spec(unquote(found["name"]), None if version is None else int(version), label)


def _failure(error: errors.OpError) -> Answer:
    retry = getattr(error, "retry_after", None)
    headers = [] if retry is None else [(b"retry-after", str(max(1, round(retry))).encode())]
    return HTTP_STATUS.get(error.error_code, 500), [*_JSON, *headers], _dumps({"error": error.message})


class RestFront:
    """An HTTP server at an address, on a thread of its own.

    Args:
      service: Answers the calls.
      address: Host and port; the port 0 stands for any free one.
      access: Who may call.
      max_body_bytes: The limit on the size of a request.
      timeout: The most seconds that a request may take, or None.
      threads: How many requests are answered at the same time.
    """

    def __init__(
        self, service: Service, address: str, access: Access, max_body_bytes: int, timeout: float | None, threads: int
    ) -> None:
        try:
            import uvicorn
        except ModuleNotFoundError:
            message = "REST needs uvicorn: pip install thalweg[serving], or do without (rest_api_port=None)"
            raise errors.FailedPreconditionError(None, None, message) from None
        host, _, port = address.rpartition(":")
        try:
            family = socket.AF_INET6 if ":" in host.strip("[]") else socket.AF_INET
            self._socket = socket.create_server((host.strip("[]"), int(port)), family=family, backlog=1024)
        except OSError as error:
            raise errors.UnavailableError(None, None, f"the server cannot listen at {address}: {error}") from None
        self.port: int = self._socket.getsockname()[1]
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="thalweg serving rest")
        application = RestApplication(service, access, max_body_bytes, timeout, self._pool)
        settings = uvicorn.Config(application, log_config=None, access_log=False, lifespan="off", ws="none")
        settings.limit_concurrency = _MAX_CONNECTIONS
        settings.load()
        if access.tls is not None:
            settings.ssl = access.tls.context(is_server=True)
        self._settings = settings
        self._server = uvicorn.Server(settings)
        self._thread = threading.Thread(target=self._serve, name="thalweg serving http", daemon=True)

    def start(self) -> None:
        """Begins to answer."""
        self._thread.start()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=self._settings.get_loop_factory()) as runner:
            runner.run(self._server.serve([self._socket]))

    def stop(self, seconds: float) -> None:
        """Takes no further requests, and gives those that are being answered some seconds."""
        self._settings.timeout_graceful_shutdown = max(1, round(seconds))
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._socket.close()
