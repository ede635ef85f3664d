"""REST server: a table of routes for TensorFlow Serving's API, the Open Inference Protocol and metrics."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple
from urllib.parse import unquote

from thalweg._src.base import errors
from thalweg._src.deploy.serving import open_inference, rest_api
from thalweg._src.deploy.serving.access import Access, missing_token
from thalweg._src.deploy.serving.event_loop import EventLoop
from thalweg._src.deploy.serving.http_connection import Answer, Headers
from thalweg._src.deploy.serving.http_request import Refusal, Request
from thalweg._src.deploy.serving.http_server import HttpServer
from thalweg._src.deploy.serving.json_text import dumps
from thalweg._src.deploy.serving.limits import BytesInFlight, Endpoint
from thalweg._src.deploy.serving.rest_api import RestRequest
from thalweg._src.deploy.serving.service import Service, typed

HTTP_STATUS = {
    **{errors.OK: 200, errors.CANCELLED: 499, errors.INVALID_ARGUMENT: 400, errors.DEADLINE_EXCEEDED: 504},
    **{errors.NOT_FOUND: 404, errors.ALREADY_EXISTS: 409, errors.PERMISSION_DENIED: 403, errors.UNAUTHENTICATED: 401},
    **{errors.RESOURCE_EXHAUSTED: 429, errors.FAILED_PRECONDITION: 400, errors.ABORTED: 409, errors.OUT_OF_RANGE: 400},
    **{errors.UNIMPLEMENTED: 501, errors.UNAVAILABLE: 503},
}
_HEALTH = ("/v2/health/live", "/v2/health/ready")  # for orchestrators, which have no token
_JSON: Headers = [(b"content-type", b"application/json")]
_TEXT: Headers = [(b"content-type", b"text/plain; version=0.0.4")]
_PERMITTED: Headers = [
    (b"allow", b"GET, HEAD, POST, OPTIONS"),
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type"),
]


async def _permit(_: RestRequest) -> bytes:
    return b""


class _Route(NamedTuple):
    method: str  # any, if it is empty
    path: re.Pattern[str]
    handle: Callable[[RestRequest], Awaitable[bytes]]
    headers: Headers = _JSON


# The first one that matches answers; paths of /v2 are matched without their percent-encoding. HEAD is taken for GET.
_ROUTES = [
    _Route(method, re.compile(pattern), *answer)
    for method, pattern, *answer in (
        ("OPTIONS", "(?s:.*)", _permit, _PERMITTED),
        ("POST", rf"{rest_api.MODEL}:predict", rest_api.predict),
        ("POST", rf"{open_inference.MODEL}/infer", open_inference.infer),
        ("POST", rf"{rest_api.MODEL}:(?P<method>classify|regress)", rest_api.classify_or_regress),
        ("POST", rf"{rest_api.MODEL}:(?P<method>\w+)", rest_api.refuse_method),
        ("GET", rest_api.MODEL, rest_api.status),
        ("GET", rf"{rest_api.MODEL}/metadata", rest_api.metadata),
        ("GET", "/metrics|/monitoring/prometheus/metrics", rest_api.metrics, _TEXT),
        ("GET", "/v2", open_inference.server_metadata),
        ("GET", "/v2/health/live", open_inference.live),
        ("GET", "/v2/health/ready", open_inference.ready),
        ("GET", open_inference.MODEL, open_inference.model_metadata),
        ("GET", rf"{open_inference.MODEL}/ready", open_inference.model_ready),
        ("", "/v2(?:/(?s:.*))?", open_inference.refuse_path),
        ("", "(?s:.*)", rest_api.refuse_path),
    )
]


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
        status, headers, body = await self._answer(method, _path(request), content, deadline)
        if (origin := request.headers.get(b"origin")) is not None:
            headers = [*headers, (b"access-control-allow-origin", origin), (b"vary", b"origin")]
        return status, headers, body

    async def _answer(self, method: str, path: str, content: bytes, deadline: float | None) -> Answer:
        if path == "/v2" or path.startswith("/v2/"):
            path = unquote(path)
        try:
            for route in _ROUTES:
                if route.method in (method, "") and (match := route.path.fullmatch(path)):
                    request = RestRequest(self._service, self._loop, method, match, content, deadline)
                    return 200, route.headers, await route.handle(request)
            raise AssertionError(path)
        except Exception as error:
            return _failure(typed(error))


def _path(request: Request) -> str:
    return request.target.partition("?")[0]


def _failure(error: errors.OpError) -> Answer:
    retry = getattr(error, "retry_after", None)
    headers = [] if retry is None else [(b"retry-after", str(max(1, round(retry))).encode())]
    return HTTP_STATUS.get(error.error_code, 500), [*_JSON, *headers], dumps({"error": error.message})


class RestServer(HttpServer):
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
