"""The REST API: TensorFlow Serving's, the Open Inference Protocol, and metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from thalweg._src.base import errors
from thalweg._src.deploy.serving import open_inference, rest_json
from thalweg._src.deploy.serving.access import Access, missing_token
from thalweg._src.deploy.serving.event_loop import EventLoop
from thalweg._src.deploy.serving.grpc_front import write_spec
from thalweg._src.deploy.serving.http_connection import Answer, Headers
from thalweg._src.deploy.serving.http_request import Refusal, Request
from thalweg._src.deploy.serving.http_server import HttpServer
from thalweg._src.deploy.serving.json_text import dumps, parse
from thalweg._src.deploy.serving.limits import BytesInFlight, Endpoint
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.protos import message_class
from thalweg._src.deploy.serving.servable import Signature
from thalweg._src.deploy.serving.service import CODES, Call, Service, typed
from thalweg._src.deploy.serving.tensors import Array

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
_HEALTH = ("/v2/health/live", "/v2/health/ready")  # for orchestrators, which have no token


class RestApplication:
    """Answers HTTP requests.

    Args:
      service: Answers the calls.
      access: Who may call.
      timeout: The most seconds that a request may take, or None.
      loop: Where it runs.
    """

    def __init__(self, service: Service, access: Access, timeout: float | None, loop: EventLoop) -> None:
        self._service = service
        self._access = access
        self._timeout = timeout
        self._loop = loop

    def check(self, request: Request) -> bool:
        """Raises Refusal for a request that is not to be read further; returns whether it proves its connection.

        Requests of web pages that are not allowed to call this server are refused: with an Origin, or with the name of
        another Host, which the page has given this server's address.
        """
        host = request.headers.get(b"host", b"localhost").decode("latin-1")
        if not self._access.has_host(host):
            raise Refusal(403, f"the server is not {host!r:.200}; --allowed_host permits a name")
        origin = request.headers.get(b"origin")
        if origin is not None and origin.decode("latin-1") not in self._access.origins:
            raise Refusal(403, f"web pages of {origin!r:.200} may not call this server; --allowed_origin permits them")
        if self._access.has_token(request.headers.get(b"authorization", b"")):
            return True
        is_open = _path(request) in _HEALTH or (origin is not None and request.method == "OPTIONS")
        if not is_open or request.length or request.is_chunked:
            raise Refusal(401, missing_token("the header authorization").message)
        return False

    def refuse(self, refusal: Refusal) -> Answer:
        """Returns the answer of a refusal."""
        headers = {401: [(b"www-authenticate", b"Bearer")], 503: [(b"retry-after", b"1")]}.get(refusal.status, [])
        return refusal.status, [*_JSON, *headers], dumps({"error": refusal.message})

    async def answer(self, request: Request, content: bytes, start: float) -> Answer:
        """Returns status, headers and body of the answer."""
        deadline = None if self._timeout is None else start + self._timeout
        method = "GET" if request.method == "HEAD" else request.method
        status, headers, body = await self._answer_any(method, _path(request), content, deadline)
        if (origin := request.headers.get(b"origin")) is not None:
            headers = [*headers, (b"access-control-allow-origin", origin), (b"vary", b"origin")]
        return status, headers, body

    async def _answer_any(self, method: str, path: str, content: bytes, deadline: float | None) -> Answer:
        try:
            if method == "OPTIONS":
                return 200, _PERMITTED, b""
            if path in _METRICS and method == "GET":
                return 200, _TEXT, (await self._service.report()).encode()
            if path == "/v2" or path.startswith("/v2/"):
                value = await open_inference.answer(self._service, self._loop, method, unquote(path), content, deadline)
                return 200, _JSON, dumps(value)
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
_PERMITTED: Headers = [
    (b"allow", b"GET, HEAD, POST, OPTIONS"),
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type"),
]
_TEXT: Headers = [(b"content-type", b"text/plain; version=0.0.4")]


def _path(request: Request) -> str:
    return request.target.partition("?")[0]


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


class RestFront(HttpServer):
    """An HTTP server of the REST API.

    Args:
      service: Answers the calls.
      endpoint: Where it listens, to whom and within which limits.
      timeout: The most seconds that a request may take, or None.
      loop: Where it runs.
      bytes_in_flight: Counts the bytes of requests and answers.
    """

    def __init__(
        self,
        service: Service,
        endpoint: Endpoint,
        timeout: float | None,
        loop: EventLoop,
        bytes_in_flight: BytesInFlight,
    ) -> None:
        try:
            import httptools  # noqa: F401
        except ModuleNotFoundError:
            message = "REST needs httptools: pip install thalweg[serving], or do without (rest_api_port=None)"
            raise errors.FailedPreconditionError(None, None, message) from None
        super().__init__(endpoint, RestApplication(service, endpoint.access, timeout, loop), bytes_in_flight)
