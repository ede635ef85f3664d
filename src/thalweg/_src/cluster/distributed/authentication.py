"""Authentication of gRPC calls: a server refuses calls without a credential before it reads their messages.

A credential is a MAC of the server's nonce under the token, so that the token itself is never sent, and a credential is
of no use at another server or after a restart. Before a channel sends anything else, both ends prove themselves by
`Prove`, whose values travel in the metadata, which gRPC limits to a few kilobytes. On loopback the port is part of
both proofs: a program of another user that listens at another port cannot pass them on.
"""

from __future__ import annotations

import hmac
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, Protocol

from thalweg._src.base.errors import UnauthenticatedError, UnknownError
from thalweg._src.cluster.distributed.credentials import (
    TOKEN,
    TOKEN_FILE,
    Credentials,
    Tls,
    host_of,
    is_loopback,
    missing_token,
)
from thalweg._src.cluster.distributed.limits import TaskConnections

# gRPC writes of connections that end to standard error, in terms of its own; errors of calls say the same.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

PROVE = "/thalweg.Credentials/Prove"
_HEALTH = "/grpc.health.v1.Health/Check"  # for orchestrators, which have no token
_CREDENTIAL, _NONCE, _PORT = "thalweg-credential-bin", "thalweg-nonce-bin", "thalweg-port-bin"
_CLIENT, _SERVER = "control plane, client", "control plane, server"
_MILLISECONDS = round(TaskConnections().header_seconds * 1000)
_SERVER_OPTIONS = (
    ("grpc.max_allowed_incoming_connections", 1 << 12),
    ("grpc.max_concurrent_streams", 1 << 6),
    ("grpc.max_metadata_size", 1 << 13),
    ("grpc.absolute_max_metadata_size", 1 << 14),
    ("grpc.server_handshake_timeout_ms", _MILLISECONDS),
    ("grpc.http2.settings_timeout", _MILLISECONDS),
    # Channels send a PING every few seconds while a call lasts, however long it does.
    ("grpc.http2.min_ping_interval_without_data_ms", 1000),
    ("grpc.http2.max_ping_strikes", 0),
)
_OUTDATED = "the credential of the call is not of this server, or of an earlier run of it"


class Connections(Protocol):
    """What is told of the calls that the peers of a server make."""

    def accept(self, peer: str) -> None:
        """Takes a call of a peer that has proved itself."""

    def ask(self, peer: str) -> None:
        """Takes a call of a peer that everybody may make, and that proves nothing."""

    def refuse(self, peer: str, reason: str) -> None:
        """Takes a call of a peer that was refused."""


def server(
    address: str,
    port: int,
    credentials: Credentials,
    handlers: Sequence[Any],
    *,
    pool: ThreadPoolExecutor,
    max_message_bytes: int,
    connections: Connections,
) -> Any:
    """Returns a gRPC server that listens at an address once it is started.

    Args:
        address: what gRPC listens at, such as `unix:` with a path.
        port: the port that clients connect to.
        credentials: what clients have to prove.
        handlers: the generic handlers of all calls.
        pool: the threads that run the calls.
        max_message_bytes: the limit on the size of a message.
        connections: takes the calls that are accepted and refused.
    """
    import grpc

    guard = _Guard(credentials, port, connections)
    grpc_server = grpc.server(pool, handlers, [guard], [*_size_options(max_message_bytes), *_SERVER_OPTIONS])
    try:
        if credentials.tls is None:
            grpc_server.add_insecure_port(address)
        else:
            authority, key, certificate = _contents(credentials.tls)
            checked = grpc.ssl_server_credentials([(key, certificate)], authority, require_client_auth=True)
            grpc_server.add_secure_port(address, checked)
    except RuntimeError as error:
        grpc_server.stop(None)
        raise UnknownError(None, None, f"Could not start gRPC server at {address}: {error}") from None
    return grpc_server


def channel(
    address: str, credentials: Credentials, *, max_message_bytes: int, options: Sequence[tuple[str, Any]] = ()
) -> Any:
    """Returns a gRPC channel to a server, which adds the credential of this process to all calls.

    A call fails with an UnauthenticatedError if the server does not prove itself.

    Args:
        address: host and port.
        credentials: those of this process.
        max_message_bytes: the limit on the size of a message.
        options: further options of gRPC.
    """
    import grpc

    # Tasks are reached directly, whatever proxy the environment names for the web.
    settings = [*_size_options(max_message_bytes), ("grpc.enable_http_proxy", 0), *options]
    target = _target(address, credentials.tls)
    if credentials.tls is None:
        plain = grpc.insecure_channel(target, settings)
    else:
        plain = grpc.secure_channel(target, grpc.ssl_channel_credentials(*_contents(credentials.tls)), settings)
    if credentials.token is None:
        return plain
    return grpc.intercept_channel(plain, _interceptor(_Session(plain, address, credentials)))


def _size_options(limit: int) -> list[tuple[str, Any]]:
    return [("grpc.max_receive_message_length", limit), ("grpc.max_send_message_length", limit)]


def _target(address: str, tls: Tls | None) -> str:
    """Returns the address as gRPC is given it.

    Both ends take localhost for 127.0.0.1, since another user may listen at the same port of ::1.
    """
    address = address.rpartition("://")[2]
    if tls is None and host_of(address).lower() == "localhost":
        return "127.0.0.1" + address[len("localhost") :]
    return address


def _contents(tls: Tls) -> list[bytes]:
    """Returns the contents of the files of authority, key and certificate."""
    contents = []
    for path in (tls.authority, tls.key, tls.certificate):
        with open(path, "rb") as file:
            contents.append(file.read())
    return contents


def _credential(credentials: Credentials, nonce: bytes, port: bytes) -> bytes:
    return credentials.mac(_CLIENT, nonce, port)


def _proof(credentials: Credentials, nonce: bytes, port: bytes, challenge: bytes) -> bytes:
    return credentials.mac(_SERVER, nonce, port, challenge)


class _SameThread(ThreadPoolExecutor):
    """Makes calls on the thread that submits them: a refusal waits for nothing, and takes no thread of other calls."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


_AT_ONCE = _SameThread(1)


class _Guard:
    """The interceptor of a server, which lets through calls with a valid credential."""

    def __init__(self, credentials: Credentials, port: int, connections: Connections) -> None:
        self._credentials = credentials
        self._connections = connections
        self._nonce = nonce = secrets.token_bytes(32)
        dialed = (_port_bytes(0), _port_bytes(port))  # what the client connected to: unknown, or this port
        self._valid = {dialed_port: _credential(credentials, nonce, dialed_port) for dialed_port in dialed}

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        sent = dict(details.invocation_metadata)
        if details.method == PROVE:
            return self._prove(sent)
        if self._credentials.token is None:
            return self._accept(continuation(details))
        if details.method == _HEALTH:
            return _noted(continuation(details), self._connections.ask)
        if _CREDENTIAL not in sent:
            return self._refuse(
                f"this server has a token of the cluster, and the client sent none: set {TOKEN} or {TOKEN_FILE}"
            )
        # All comparisons are made, in constant time, so that how long they take tells nothing of a valid credential.
        matches = [hmac.compare_digest(sent[_CREDENTIAL], valid) for valid in self._valid.values()]
        return self._accept(continuation(details)) if any(matches) else self._refuse(_OUTDATED)

    def _prove(self, sent: dict[str, bytes]) -> Any:
        """Answers with the nonce of the server, then to a client that proves itself with a proof."""
        if self._credentials.token is None:
            return self._refuse(missing_token("the client", "the server").message)
        if not sent.keys() >= {_CREDENTIAL, _NONCE, _PORT}:
            return _answer(self._nonce, self._connections.ask)
        port = sent[_PORT]
        if not hmac.compare_digest(sent[_CREDENTIAL], _credential(self._credentials, self._nonce, port)):
            return self._refuse(
                f"the server has another token of the cluster than the client: compare {TOKEN} or {TOKEN_FILE}"
            )
        # The proof covers the port that the client has dialed. A program of another user that listens at another port
        # of this machine can pass on what it hears, but the proof is one for its own port, and of no use here.
        if port not in self._valid:
            return self._refuse("on loopback a port must be forwarded to a port of the same number, or TLS be used")
        proof = _proof(self._credentials, self._nonce, port, sent[_NONCE])
        return _answer(proof, self._connections.accept)

    def _accept(self, handler: Any) -> Any:
        return _noted(handler, self._connections.accept)

    def _refuse(self, text: str) -> Any:
        """Returns a handler that reads nothing and refuses."""
        import grpc

        def refuse(_: Any, context: Any) -> None:
            self._connections.refuse(context.peer(), text)
            context.abort(grpc.StatusCode.UNAUTHENTICATED, text)

        refuse.experimental_thread_pool = _AT_ONCE  # type: ignore[attr-defined]
        return grpc.stream_stream_rpc_method_handler(refuse)


def _noted(handler: Any, note: Callable[[str], None]) -> Any:
    """Returns a handler that does the same, once it has noted whose call it is.

    It takes a request for a stream, so that this is noted before a message of any size has arrived.
    """
    import grpc

    if handler is None:
        return None
    forms = (handler.unary_unary, handler.unary_stream, handler.stream_unary, handler.stream_stream)
    function = next(filter(None, forms))

    def answer(requests: Any, context: Any) -> Any:
        note(context.peer())
        request = requests if handler.request_streaming else next(requests, None)
        if request is None:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the call has no message")
        return function(request, context)

    is_stream = handler.response_streaming
    form = grpc.stream_stream_rpc_method_handler if is_stream else grpc.stream_unary_rpc_method_handler
    return form(answer, handler.request_deserializer, handler.response_serializer)


def _port_bytes(port: int) -> bytes:
    return port.to_bytes(2, "big")


def _answer(message: bytes, called: Callable[[str], None]) -> Any:
    """Returns a handler that sends a message; it takes the request for a stream and reads nothing of it.

    called: takes the peer of the call
    """
    import grpc

    def answer(_: Any, context: Any) -> Iterator[bytes]:
        called(context.peer())
        yield message

    return grpc.stream_stream_rpc_method_handler(answer)


# No lock: the credential follows from the nonce of the server and the port, so threads that obtain it at the same time
# obtain the same. A call whose credential is outdated was refused before its message was read, so it may be made again
# whatever it does, unless its messages are a stream that was consumed.
class _Session:
    """The credential of a channel, which its first call obtains by proofs, and another one if the server restarts."""

    def __init__(self, plain: Any, address: str, credentials: Credentials) -> None:
        self._call = plain.unary_unary(PROVE)
        self._credentials = credentials
        self._other = f"the server at {address}"
        port = address.rpartition(":")[2]
        self._port = _port_bytes(int(port) if is_loopback(address) and port.isdecimal() else 0)
        self._credential: bytes | None = None

    def intercept(self, continuation: Callable[[Any, Any], Any], details: Any, request: Any, can_repeat: bool) -> Any:
        """Makes a call with the credential; again if the server did not know it, and the request was not consumed."""
        call = self._attempt(continuation, details, request)
        if can_repeat and call.done() and _is_outdated(call):
            self._credential = None
            return self._attempt(continuation, details, request)
        call.add_done_callback(self._forget_outdated)
        return call

    def _attempt(self, continuation: Callable[[Any, Any], Any], details: Any, request: Any) -> Any:
        end = None if details.timeout is None else time.monotonic() + details.timeout
        if self._credential is None:
            self._credential = self._prove(end, details.wait_for_ready)
        changed = SimpleNamespace(
            method=details.method,
            timeout=_left(end),
            metadata=(*(details.metadata or ()), (_CREDENTIAL, self._credential)),
            credentials=details.credentials,
            wait_for_ready=details.wait_for_ready,
            compression=details.compression,
        )
        return continuation(changed, request)

    def _forget_outdated(self, call: Any) -> None:
        if _is_outdated(call):
            self._credential = None

    def _prove(self, end: float | None, wait_for_ready: bool | None) -> bytes:
        """Proves this process to the server and the reverse; returns the credential of further calls."""
        import grpc

        challenge = secrets.token_bytes(32)
        try:
            nonce = self._call(b"", _left(end), wait_for_ready=wait_for_ready)
            credential = _credential(self._credentials, nonce, self._port)
            sent = ((_CREDENTIAL, credential), (_NONCE, challenge), (_PORT, self._port))
            proof = self._call(b"", _left(end), sent)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                text = f"{self._other} refuses this process: {error.details()}"
                raise UnauthenticatedError(None, None, text) from None
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                raise UnauthenticatedError(None, None, f"{self._other} is not one of a cluster of thalweg") from None
            raise
        # Before the first message of a call: a server that does not know the token is sent none.
        if not hmac.compare_digest(proof, _proof(self._credentials, nonce, self._port, challenge)):
            raise self._credentials.other_token(self._other)
        return credential


def _left(end: float | None) -> float | None:
    return None if end is None else max(end - time.monotonic(), 0)


def _is_outdated(call: Any) -> bool:
    return bool(call.details() == _OUTDATED)


def _interceptor(session: _Session) -> Any:
    """Returns the interceptor of a channel, for calls of all four forms."""
    import grpc

    def unary(_: Any, continuation: Callable[[Any, Any], Any], details: Any, request: Any) -> Any:
        return session.intercept(continuation, details, request, can_repeat=True)

    def stream(_: Any, continuation: Callable[[Any, Any], Any], details: Any, requests: Any) -> Any:
        return session.intercept(continuation, details, requests, can_repeat=False)

    bases = (
        *(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor),
        *(grpc.StreamUnaryClientInterceptor, grpc.StreamStreamClientInterceptor),
    )
    methods = {
        **{"intercept_unary_unary": unary, "intercept_unary_stream": unary},
        **{"intercept_stream_unary": stream, "intercept_stream_stream": stream},
    }
    return type("Interceptor", bases, methods)()
