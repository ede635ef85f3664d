"""gRPC for the control plane: the services of control.proto, at both ends.

gRPC waits for tasks that have not started, notices lost connections by its keepalive, and repeats the calls that are
marked idempotent. What is added here is TensorFlow's errors, and that requests are parsed where their errors are
answered.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from thalweg._src.base import errors
from thalweg._src.cluster.distributed import authentication, control
from thalweg._src.cluster.distributed.credentials import Credentials
from thalweg._src.cluster.distributed.data_plane import abstract
from thalweg._src.cluster.distributed.limits import Limits, TaskConnections
from thalweg._src.cluster.distributed.refusals import Refusals
from thalweg._src.cluster.distributed.relay import Relay

Answer = TypeVar("Answer")
MASTER, WORKER = "thalweg.v1.Master", "thalweg.v1.Worker"
_THREADS = 64
# A compilation may take minutes, so the time limits of calls are too long to notice a machine that has vanished: gRPC
# asks it.
_PING_MILLISECONDS = 4000  # without a message during a call, after which gRPC sends a PING
_LOST_MILLISECONDS = 8000  # for the answer to a PING, and for a connection
_CHANNEL_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.min_reconnect_backoff_ms", _LOST_MILLISECONDS),
    ("grpc.keepalive_time_ms", _PING_MILLISECONDS),
    ("grpc.keepalive_timeout_ms", _LOST_MILLISECONDS),
    ("grpc.http2.ping_timeout_ms", _LOST_MILLISECONDS),
    # Also without a call: firewalls forget connections that are idle.
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # A task that is started again may have another address.
    ("grpc.dns_min_time_between_resolutions_ms", 1000),
    # A new channel has a connection of its own, since that of an old one may be lost without a sign.
    ("grpc.use_local_subchannel_pool", 1),
)
# What gRPC's errors of connections contain, and what they mean; the first one counts.
_REASONS = {
    "ping timeout": f"nothing was heard of it for {_LOST_MILLISECONDS / 1000:g} seconds",
    "Connection refused": "connection refused: nothing listens there",
    "No route to host": "there is no route to the host",
    "Network is unreachable": "there is no route to the host",
    "lookup": "its name cannot be resolved",
    "resol": "its name cannot be resolved",
    "Deadline Exceeded": "no answer: the host is down, a firewall drops connections to this port, or the task is busy",
    "imed out": "no answer: the host is down, or a firewall drops connections to this port",
    "handshaker shutdown": "no answer: the host is down, or a firewall drops connections to this port",
    "Trying to connect": "it is another kind of server",
    "andshake": "the handshake of TLS failed, or only one end uses TLS",
    "Stream removed": "the task ended the call, as it does if there are too many at a time",
    "GOAWAY": "the connection was closed",
    "closed": "the connection was closed",
    "recvmsg": "the connection was closed",
    "reset": "the connection was closed",
    "Broken pipe": "the connection was closed",
}
# Steps go over channels, where nothing is repeated: an update must not be applied twice.
_RETRY_POLICY = {
    "maxAttempts": 5,
    "initialBackoff": "0.1s",
    "maxBackoff": "1s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE"],
}
# A trailer that says that a call is not to be made again: its error is an answer of the task, not of the network.
_NO_RETRY = (("grpc-retry-pushback-ms", "-1"),)
_caller_is_active: ContextVar[Callable[[], bool]] = ContextVar("caller_is_active", default=lambda: True)


@cache
def methods() -> dict[str, Any]:
    """Returns the descriptors of all calls by the names of their requests: no two calls have the same request."""
    services = control.DESCRIPTOR.services_by_name.values()
    return {method.input_type.full_name: method for service in services for method in service.methods}


def _path(method: Any) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


@cache
def _service_config() -> str:
    """Returns the configuration by which gRPC repeats the calls that may be made twice.

    GetTask is not among them: it asks whether the task can be reached, and by `wait_for_ready` until it can.
    """
    repeatable = [
        {"service": method.containing_service.full_name, "method": method.name}
        for method in methods().values()
        if method.GetOptions().idempotency_level and method.name != "GetTask"
    ]
    return json.dumps({"methodConfig": [{"name": repeatable, "retryPolicy": _RETRY_POLICY}]})


class Stub:
    """The calls to one task."""

    def __init__(self, address: str, credentials: Credentials) -> None:
        self.address = address
        self._credentials = credentials
        self.renew()

    def renew(self) -> None:
        """Makes later calls on a new connection, to what the name of the address stands for now."""
        # The old channel ends with its last call: another thread may be in one.
        self._channel = authentication.channel(
            self.address,
            self._credentials,
            max_message_bytes=Limits.find().graph_bytes,
            options=[*_CHANNEL_OPTIONS, ("grpc.service_config", _service_config())],
        )

    def call(
        self, request: Any, answer: type[Answer], timeout: float | None = None, wait_for_ready: bool = False
    ) -> Answer:
        """Makes the call that has this request; raises UnavailableError if the task is lost, or the task's error.

        wait_for_ready: whether to wait for a task that cannot be reached yet, until the time is up
        """
        import grpc

        method = methods()[request.DESCRIPTOR.full_name]
        try:
            content = self._channel.unary_unary(_path(method))(
                request.SerializeToString(), timeout=timeout, wait_for_ready=wait_for_ready
            )
        except grpc.RpcError as error:
            raise _error(error, self.address) from None
        except ValueError as error:  # the channel was closed meanwhile
            raise errors.CancelledError(None, None, str(error)) from None
        return _parsed(answer, content, errors.InternalError, f"the answer of {self.address} to {method.name}")

    def close(self) -> None:
        self._channel.close()


def _is_answer(error: Any) -> bool:
    """Returns whether an error is one of the task, and not of the connection."""
    return any(key == _NO_RETRY[0][0] for key, _ in error.trailing_metadata() or ())


def _parsed(
    kind: type[Answer], content: bytes, error: Callable[[None, None, str], errors.OpError], what: str
) -> Answer:
    from google.protobuf.message import DecodeError

    try:
        message: Answer = kind.FromString(content)  # type: ignore[attr-defined]
        return message
    except DecodeError as reason:
        raise error(None, None, f"{what} is malformed: {reason}") from None


def _error(error: Any, address: str) -> errors.OpError:
    import grpc

    code, text = error.code(), error.details() or f"the call to {address} failed"
    if code is grpc.StatusCode.UNIMPLEMENTED:
        text = (
            f"the task at {address} has no such call: all tasks of a cluster need the same release of Thalweg ({text})"
        )
    elif code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED) and not _is_answer(error):
        text = next((reason for sign, reason in _REASONS.items() if sign in text), text)
    kind = errors.exception_type_from_error_code(code.value[0])
    return kind(None, None, text)


class _Threads(ThreadPoolExecutor):
    """The threads that answer calls."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Calls a function on a thread; at exit, when there are no new threads, the call ends with its connection."""
        try:
            return super().submit(fn, *args, **kwargs)
        except RuntimeError:
            return Future()


class UnixSocket:
    """The unix socket of a gRPC server; only this process can connect to it, or on some systems this user."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="thalweg-")  # mode 0700
        self._name = f"thalweg-{secrets.token_hex(16)}"
        self._path = f"{self._folder}/grpc"
        self._file = -1
        if sys.platform == "linux":  # where a path of a socket has 107 bytes at most
            self._file = os.open(self._folder, os.O_PATH | os.O_CLOEXEC)
            self._path = f"/proc/self/fd/{self._file}/grpc"
        self.address = f"unix:{self._path}"

    def hide(self) -> None:
        """Removes the path once a server listens; a killed process then leaves none behind."""
        if self._file >= 0:  # the open file of a socket can be connected to
            folder, self._file = self._file, os.open(self._path, os.O_PATH | os.O_CLOEXEC)
            os.close(folder)
            self._remove()
            self._path = f"/proc/self/fd/{self._file}"

    def connect(self, number: int) -> socket.socket:
        """Returns a connection to the server, whose name there ends in a slash and a number."""
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.setblocking(False)  # a server that does not accept may not stop the relay
            name = f"{self._folder}/{number}"
            sock.bind(abstract(f"{self._name}/{number}") if self._file >= 0 else name)
            sock.connect(self._path)
            if self._file < 0:
                os.unlink(name)
            return sock
        except OSError:
            sock.close()
            raise

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(f"{self._folder}/grpc")
        with contextlib.suppress(OSError):
            os.rmdir(self._folder)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._remove()


class RpcServer:
    """Serves the calls of a task, and gRPC's services for health and reflection, to connections of the gate.

    Args:
      port: that of the gate.
      servicers: for each service of control.proto, an object with a method for each call, from request to answer.
      credentials: those of this process.
      refusals: takes the strangers that were refused.
    """

    def __init__(
        self, port: int, servicers: Mapping[str, object], credentials: Credentials, refusals: Refusals
    ) -> None:
        import grpc
        from grpc_health.v1 import health, health_pb2_grpc
        from grpc_reflection.v1alpha import reflection

        self._threads = _Threads(_THREADS, thread_name_prefix="thalweg rpc")
        self._socket = UnixSocket()
        self._relay = Relay(self._socket.connect, TaskConnections(), refusals)
        self.take = self._relay.take
        handlers = [
            grpc.method_handlers_generic_handler(name, _handlers(name, servicer, f"port {port}"))
            for name, servicer in servicers.items()
        ]
        try:
            self._server = authentication.server(
                self._socket.address,
                port,
                credentials,
                handlers,
                pool=self._threads,
                max_message_bytes=Limits.find().graph_bytes,
                connections=self._relay,
            )
            self._socket.hide()
        except BaseException:
            self._relay.stop()
            self._socket.close()
            raise
        self._health = health.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        self._services = ("", *servicers)  # the empty name is the whole server
        reflection.enable_server_reflection([*servicers, health.SERVICE_NAME, reflection.SERVICE_NAME], self._server)

    def start(self) -> None:
        from grpc_health.v1.health_pb2 import HealthCheckResponse

        for service in self._services:
            self._health.set(service, HealthCheckResponse.SERVING)
        self._server.start()

    def stop(self) -> None:
        self._health.enter_graceful_shutdown()
        self._server.stop(grace=None).wait(5)
        self._relay.stop()
        self._socket.close()
        self._threads.shutdown(wait=False, cancel_futures=True)


def caller_is_active() -> bool:
    """Returns whether the caller of the call that this thread answers still waits; True outside of calls."""
    return _caller_is_active.get()()


def _handlers(service: str, servicer: object, address: str) -> dict[str, Any]:
    import grpc

    return {
        method.name: grpc.unary_unary_rpc_method_handler(_handler(method, getattr(servicer, method.name), address))
        for method in methods().values()
        if method.containing_service.full_name == service
    }


def _handler(method: Any, function: Callable[[Any], Any], address: str) -> Callable[[bytes, Any], bytes]:
    """Returns the function that answers a call from bytes to bytes; errors become status codes."""
    from google.protobuf.message_factory import GetMessageClass

    request_type = GetMessageClass(method.input_type)

    def answer(content: bytes, context: Any) -> bytes:
        _caller_is_active.set(context.is_active)
        try:
            what = f"the request {method.name} that {address} received"
            response = function(_parsed(request_type, content, errors.InvalidArgumentError, what))
            return b"" if response is None else response.SerializeToString()  # the bytes of an Empty
        except Exception as error:
            context.set_trailing_metadata(_NO_RETRY)
            context.abort(*_status(error))
            raise  # abort raises

    return answer


def _status(error: Exception) -> tuple[Any, str]:
    import grpc

    codes = {code.value[0]: code for code in grpc.StatusCode}
    if isinstance(error, errors.OpError):
        return codes[error.error_code], error.message
    if isinstance(error, ValueError | TypeError | KeyError):
        return codes[errors.INVALID_ARGUMENT], str(error)
    return codes[errors.INTERNAL], f"{type(error).__name__}: {error}"
