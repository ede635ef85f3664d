"""Requests of HTTP/1.1, as httptools reads them: the head, with what a server must refuse, and chunked bodies."""

from __future__ import annotations

from typing import Any

from thalweg._src.deploy.serving.limits import Limits

_ONCE = {b"authorization", b"content-length", b"expect", b"host", b"origin", b"transfer-encoding"}
_HEAD_END = b"\r\n\r\n"


class Refusal(Exception):
    """An answer instead of that to the request; the rest of the request is not read."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def head_end(content: bytes | bytearray, start: int = 0) -> int:
    """Returns the number of bytes up to the end of the headers, 0 if they have not arrived."""
    position = content.find(_HEAD_END, max(0, start - len(_HEAD_END)))
    return 0 if position < 0 else position + len(_HEAD_END)


class Request:
    """A request, which httptools reads: it calls the methods `on_...`.

    Lengths of bodies have exactly one form that is accepted, so that no proxy can take a part of one for a request.

    Args:
        head: The bytes up to the end of the headers.
        limits: Those on headers.
    """

    __slots__ = (
        *("_is_complete", "_parser", "_repeated", "body_bytes", "chunked_bytes", "expects_continue", "has_ended"),
        *("has_excess", "headers", "is_chunked", "keeps_alive", "length", "method", "parts", "target"),
    )

    def __init__(self, head: bytes, limits: Limits) -> None:
        import httptools

        self.target, self.parts = "", list[bytes]()
        self.headers: dict[bytes, bytes] = {}
        self.body_bytes = self.chunked_bytes = 0
        self._is_complete = self.has_ended = self.has_excess = False
        self._repeated = b""
        self._parser: Any = httptools.HttpRequestParser(self)
        is_upgrade = False
        try:
            self._parser.feed_data(head)
        except httptools.HttpParserUpgrade:  # is not offered: the request is answered as it is
            is_upgrade = True
        except (httptools.HttpParserError, UnicodeDecodeError) as error:
            raise Refusal(400, f"Malformed request: {error}") from None
        if head.count(b"\r\n") > limits.headers + 2:  # with the first line and the empty one
            raise Refusal(431, f"the request has more than {limits.headers} headers")
        self._check(is_upgrade)

    def _check(self, is_upgrade: bool) -> None:
        version = self._parser.get_http_version()
        if version not in ("1.0", "1.1"):
            raise Refusal(505, f"expected HTTP/1.1, received HTTP/{version}")
        if not self._is_complete or not self.target.startswith("/"):
            raise Refusal(400, f"Malformed request: expected a path, received {self.target!r:.200}")
        if self._repeated:
            raise Refusal(400, f"Malformed request: the header {self._repeated.decode('latin-1')} is repeated")
        if version == "1.1" and b"host" not in self.headers:
            raise Refusal(400, "Malformed request: the header host is missing")
        encoding = self.headers.get(b"transfer-encoding")
        self.is_chunked = encoding is not None
        if encoding is not None and (encoding.lower() != b"chunked" or version == "1.0" or is_upgrade):
            raise Refusal(501, f"expected Transfer-Encoding: chunked, received {encoding!r:.200}")
        expectation = self.headers.get(b"expect", b"").lower()
        if expectation not in (b"", b"100-continue"):
            raise Refusal(417, f"expected Expect: 100-continue, received {expectation!r:.200}")
        self.expects_continue = bool(expectation) and version == "1.1"
        self.method = self._parser.get_method().decode("latin-1")
        self.length = int(self.headers.get(b"content-length", b"0"))

    def take(self, content: bytes) -> None:
        """Takes a part of a chunked body."""
        import httptools

        self.chunked_bytes += len(content)
        try:
            self._parser.feed_data(content)
        except httptools.HttpParserError as error:
            if not self.has_ended:
                raise Refusal(400, f"Malformed request: {error}") from None
            self.has_excess = True

    def on_url(self, url: bytes) -> None:
        if not self._is_complete:
            self.target += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if self._is_complete:
            return  # a trailer, or of what follows
        if name in self.headers and name in _ONCE:
            self._repeated = name
        self.headers[name] = value.rstrip(b" \t")

    def on_headers_complete(self) -> None:
        if not self._is_complete:
            self._is_complete, self.keeps_alive = True, self._parser.should_keep_alive()

    def on_message_begin(self) -> None:
        self.has_excess = self.has_ended

    def on_body(self, body: bytes) -> None:
        if not self.has_excess:
            self.parts.append(body)
            self.body_bytes += len(body)

    def on_message_complete(self) -> None:
        self.has_ended = True
