"""Heads and chunked bodies of HTTP requests: exactly one reading of each is accepted."""

import pytest

from thalweg._src.deploy.serving.http_request import Refusal, Request, head_end
from thalweg._src.deploy.serving.limits import Limits

EXCESS = b"POST /b HTTP/1.1\r\nHost: a\r\nX: b\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"
POST = "POST /a HTTP/1.1\r\nHost: a\r\n"


def read(text, **limits):
    return Request(f"{text}\r\n".encode("latin-1"), Limits(**limits))


def test_a_request():
    request = read("GET /a%20b?c HTTP/1.1\r\nHost: h\r\nX-Y:  z \r\n")
    assert (request.method, request.target, request.length, request.keeps_alive) == ("GET", "/a%20b?c", 0, True)
    assert request.headers == {b"host": b"h", b"x-y": b"z"}
    assert read(POST + "Content-Length: 007\r\n").length == 7
    assert not read(POST + "Connection: close\r\n").keeps_alive
    assert not read("GET / HTTP/1.0\r\n").keeps_alive
    assert read("GET / HTTP/1.0\r\nConnection: keep-alive\r\n").keeps_alive
    assert read(POST + "Expect: 100-Continue\r\nContent-Length: 3\r\n").expects_continue
    assert read(POST + "Transfer-Encoding: Chunked\r\n").is_chunked
    assert read("GET /a HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n").target == "/a"


@pytest.mark.parametrize(
    "status, text",
    [
        (400, POST + "Content-Length: 3\r\nContent-Length: 3\r\n"),
        (400, POST + "Content-Length: 3, 3\r\n"),
        (400, POST + "Content-Length: +3\r\n"),
        (400, POST + "Content-Length: -3\r\n"),
        (400, POST + "Content-Length: 0x3\r\n"),
        (400, POST + "Content-Length: 3 3\r\n"),
        (400, POST + f"Content-Length: {1 << 64}\r\n"),
        (400, POST + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"),
        (400, POST + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"),
        (400, POST + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        (400, POST + "Transfer-Encoding: chunked, identity\r\n"),
        (400, POST + "Transfer-Encoding: xchunked\r\n"),
        (400, POST + "Transfer-Encoding:\x0bchunked\r\n"),
        (400, POST + "Transfer-Encoding : chunked\r\n"),
        (501, POST + "Transfer-Encoding: gzip, chunked\r\n"),
        (501, POST + "Connection: upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\n"),
        (501, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n"),
        (417, POST + "Expect: 200-ok\r\n"),
        (400, POST + "Host: b\r\n"),
        (400, POST + "Authorization: Bearer a\r\nauthorization: Bearer b\r\n"),
        (400, "POST /a HTTP/1.1\r\n"),
        (400, POST + "X: a\r\n folded\r\n"),
        (400, POST + "X: a\x00\r\n"),
        (400, POST + "X: a\n"),
        (400, POST + "X Y: a\r\n"),
        (400, POST + "no colon\r\n"),
        (400, "GET http://a/b HTTP/1.1\r\nHost: a\r\n"),
        (400, "OPTIONS * HTTP/1.1\r\nHost: a\r\n"),
        (400, "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n"),
        (400, "GARBAGE / HTTP/1.1\r\nHost: a\r\n"),
        (400, "\x16\x03\x01\x02\x00\x01"),
        (505, "GET / HTTP/0.9\r\n"),
        (505, "PRI * HTTP/2.0\r\n"),
        (431, POST + "X: a\r\n" * 9),
    ],
)
def test_what_is_refused(status, text):
    with pytest.raises(Refusal) as caught:
        read(text, headers=9)
    assert caught.value.status == status, caught.value.message


def test_the_number_of_headers():
    assert read(POST + "X: a\r\n" * 8, headers=9).headers[b"x"] == b"a"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_a_chunked_body_in_parts(size):
    content = b"3;ext=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n"
    request = read(POST + "Transfer-Encoding: chunked\r\n")
    for start in range(0, len(content), size):
        assert not request.has_ended
        request.take(content[start : start + size])
    assert request.has_ended and not request.has_excess
    assert (b"".join(request.parts), request.body_bytes, request.chunked_bytes) == (b"abc0123456789", 13, len(content))
    assert b"trailer" not in request.headers


@pytest.mark.parametrize(
    "content", [b"3\nabc\r\n", b"0x3\r\nabc\r\n", b"-1\r\n", b"3\r\nabcd\r\n", b"f" * 17 + b"\r\n"]
)
def test_malformed_chunks(content):
    with pytest.raises(Refusal, match="Malformed request"):
        read(POST + "Transfer-Encoding: chunked\r\n").take(content)


@pytest.mark.parametrize("excess", [b"G", b"GET / HTTP/1.1\r\n", b"garbage!", EXCESS])
def test_what_follows_a_chunked_body_is_not_read(excess):
    request = read(POST + "Transfer-Encoding: chunked\r\n")
    request.take(b"0\r\n\r\n" + excess)
    assert request.has_ended and request.has_excess and not request.parts
    assert (request.target, request.keeps_alive, request.headers.keys()) == (
        "/a",
        True,
        {b"host", b"transfer-encoding"},
    )


def test_the_end_of_headers():
    content = b"a\r\nb\r\n\r\nc"
    assert head_end(content) == 8
    assert [head_end(content[:end]) for end in range(8)] == [0] * 8
    assert [head_end(content, start) for start in range(8)] == [8] * 8
