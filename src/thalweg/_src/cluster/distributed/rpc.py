"""gRPC for the control plane: the calls of `control` as methods of one service."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from thalweg._src.base import errors
from thalweg._src.base.messages import Message
from thalweg._src.cluster.distributed import authentication, background
from thalweg._src.cluster.distributed.control import CALLS, SERVICE, decode, encode
from thalweg._src.cluster.distributed.credentials import Credentials
from thalweg._src.cluster.distributed.grpc_connections import GrpcConnections
from thalweg._src.cluster.distributed.limits import Limits, TaskConnections

M = TypeVar("M", bound=Message)
_THREADS = 64
_CHECK_SECONDS = 0.5
_is_waited_for: ContextVar[Callable[[], bool]] = ContextVar("is_waited_for", default=lambda: True)
_RECONNECT = (("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 1000))


class Stub:
    """The calls to one task."""

    def __init__(self, address: str, credentials: Credentials) -> None:
        self.address = address
        self._channel = authentication.channel(
            address, credentials, max_message_bytes=Limits.find().graph_bytes, options=_RECONNECT
        )
        self._methods: dict[type[Message], Any] = {}

    def call(
        self,
        request: Message,
        answer: type[M],
        attachment: bytes = b"",
        timeout: float | None = None,
        is_alive: Callable[[], bool] = lambda: True,
    ) -> M:
        """Makes a call; raises UnavailableError if the task cannot be reached, or the error of the task.

        is_alive: returns whether to go on waiting for the answer
        """
        import grpc

        kind = type(request)
        if kind not in self._methods:
            self._methods[kind] = self._channel.unary_unary(f"/{SERVICE}/{kind.__name__}")
        assert CALLS[kind] is answer
        try:
            method = partial(self._methods[kind], timeout=timeout)
            future = background.call(method, encode(request, attachment))
            while not futures.wait([future], _CHECK_SECONDS).done:
                if not is_alive():  # the call itself ends with the channel
                    raise errors.UnavailableError(None, None, f"{self.address} does not answer")
            content = future.result()
        except grpc.RpcError as error:
            raise _error(error, self.address) from None
        except ValueError as error:  # the channel was closed meanwhile
            raise errors.CancelledError(None, None, str(error)) from None
        try:
            return decode(answer, content)[0]
        except ValueError as error:
            raise errors.InternalError(None, None, f"the answer of {self.address} is malformed: {error}") from None

    def close(self) -> None:
        self._channel.close()


def _error(error: Any, address: str) -> errors.OpError:
    code = error.code().value[0]
    kind = errors.exception_type_from_error_code(code)
    return kind(None, None, error.details() or f"the call to {address} failed")


Handlers = dict[type[Message], Callable[[Any, memoryview], Message]]


class _Threads(ThreadPoolExecutor):
    """The threads that answer calls."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Calls a function on a thread; at exit, when there are no new threads, the call ends with its connection."""
        try:
            return super().submit(fn, *args, **kwargs)
        except RuntimeError:
            return Future()


class RpcServer:
    """Serves the calls of a task at an address."""

    def __init__(self, address: str, handlers: Handlers, credentials: Credentials) -> None:
        import grpc

        methods = {
            kind.__name__: grpc.unary_unary_rpc_method_handler(_method(kind, handle, address))
            for kind, handle in handlers.items()
        }
        self._threads = _Threads(_THREADS, thread_name_prefix="thalweg rpc")
        handler = grpc.method_handlers_generic_handler(SERVICE, methods)
        self._connections = GrpcConnections(TaskConnections())
        self._server, self.port = authentication.server(
            address,
            credentials,
            [handler],
            pool=self._threads,
            max_message_bytes=Limits.find().graph_bytes,
            connections=self._connections,
        )

    def start(self) -> None:
        self._server.start()
        self._connections.start(self.port)

    def stop(self) -> None:
        self._connections.stop()
        self._server.stop(grace=None).wait(5)
        self._threads.shutdown(wait=False, cancel_futures=True)


def is_waited_for() -> bool:
    """Returns whether the caller of the call that this thread answers still waits; True outside of calls."""
    return _is_waited_for.get()()


def _method(
    kind: type[Message], handle: Callable[[Any, memoryview], Message], address: str
) -> Callable[[bytes, Any], bytes]:
    def call(content: bytes, context: Any) -> bytes:
        _is_waited_for.set(context.is_active)
        try:
            try:
                request, attachment = decode(kind, content)
            except ValueError as error:
                raise ValueError(f"{address} received a malformed call {kind.__name__}: {error}") from None
            return encode(handle(request, attachment))
        except Exception as error:
            code, message = _status(error)
            context.abort(code, message)
            raise  # abort raises

    return call


def _status(error: Exception) -> tuple[Any, str]:
    import grpc

    codes = {code.value[0]: code for code in grpc.StatusCode}
    if isinstance(error, errors.OpError):
        return codes[error.error_code], error.message
    if isinstance(error, ValueError | TypeError | KeyError):
        return codes[errors.INVALID_ARGUMENT], str(error)
    return codes[errors.INTERNAL], f"{type(error).__name__}: {error}"
