"""A server of HTTP/1.1 on an event loop, which strangers cannot exhaust.

A connection that is not proved costs a file and the bytes of its headers. It is read by a selector of its own, a few
connections at a time: however many there are, a client that is proved waits for a fraction of a millisecond.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import selectors
import socket
import time
from collections import deque

from thalweg._src.base import errors
from thalweg._src.cluster.distributed.admission import Admission, State, group_of
from thalweg._src.deploy.serving.http_connection import WAITS, Application, Connection, Port
from thalweg._src.deploy.serving.limits import BytesInFlight, Endpoint

_BACKLOG = 1024
_SLICE = 1e-4  # seconds that connections that are not proved take of a turn of the loop
_SWEEP = 0.5  # seconds between looks for connections whose time is over
_RETRY = 0.1  # seconds until connections are accepted again, if the process has too many files
_BUSY = (State.RECEIVING, State.ANSWERING, State.SENDING)
_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class HttpServer:
    """A server at an address.

    Args:
        endpoint: Where it listens, to whom and within which limits.
        application: Answers the requests.
        bytes_in_flight: Counts the bytes of requests and answers.
    """

    def __init__(self, endpoint: Endpoint, application: Application, bytes_in_flight: BytesInFlight) -> None:
        family = socket.AF_INET6 if ":" in endpoint.host else socket.AF_INET
        try:
            self._listener = socket.create_server(
                (endpoint.host, endpoint.port), family=family, backlog=_BACKLOG, reuse_port=endpoint.reuse_port
            )
        except OSError as error:
            message = f"the server cannot listen at {endpoint.address}: {error}"
            raise errors.UnavailableError(None, None, message) from None
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        tls = None if endpoint.access.tls is None else endpoint.access.tls.context(is_server=True)
        self._admission: Admission[Connection] = Admission(endpoint.limits)
        self._shared = Port(endpoint, application, self._admission, bytes_in_flight, self, tls)
        self._selector = selectors.DefaultSelector()
        self._ready: deque[Connection] = deque()
        self._ended = asyncio.Event()  # is set when a connection ends
        self._is_started = False

    async def start(self) -> None:
        """Begins to answer."""
        self._loop = asyncio.get_running_loop()
        self._is_started = True
        self._loop.add_reader(self._listener, self._accept)
        self._loop.add_reader(self._selector.fileno(), self._read_unproved)
        self._sweeping = self._loop.call_later(_SWEEP, self._sweep)

    async def stop(self, seconds: float) -> None:
        """Takes no further requests, and gives those that have begun some seconds."""
        if self._is_started:
            self._is_started = False
            self._shared.is_stopping = True
            self._loop.remove_reader(self._listener)
            self._listener.close()
            for connection in self._admission.having(State.UNPROVED, State.IDLE):
                connection.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while self._admission.having(*_BUSY):
                        self._ended.clear()
                        await self._ended.wait()
            for connection in self._admission.having(*State):
                connection.close()
            self._sweeping.cancel()
            self._loop.remove_reader(self._selector.fileno())
        self._listener.close()
        self._selector.close()

    def _accept(self) -> None:
        end = time.monotonic() + _SLICE
        while (now := time.monotonic()) < end:
            try:
                accepted, address = self._listener.accept()
            except WAITS:
                return
            except OSError as error:
                if error.errno in _FULL:
                    self._make_room()
                return
            accepted.setblocking(False)
            group = group_of(address[0])
            connection = Connection(self._shared, accepted, group)
            victim = self._admission.open(connection, group, now)
            if victim is not None:
                victim.close()
            self.read_later(connection)

    def _make_room(self) -> None:
        """Closes a connection because the process has too many files, or waits until there are fewer."""
        victim = self._admission.oldest()
        if victim is not None:
            victim.close()
        else:
            self._loop.remove_reader(self._listener)
            self._loop.call_later(
                _RETRY, lambda: self._is_started and self._loop.add_reader(self._listener, self._accept)
            )

    def _read_unproved(self) -> None:
        if not self._ready:
            self._ready.extend(key.data for key, _ in self._selector.select(0))
        end = time.monotonic() + _SLICE
        while self._ready and time.monotonic() < end:
            connection = self._ready.popleft()
            if self._admission.state(connection) is State.UNPROVED:
                connection.read()

    def read_later(self, connection: Connection) -> None:
        """Has a connection read after those that are proved."""
        connection.is_first = False
        self._selector.register(connection.end, selectors.EVENT_READ, connection)

    def read_first(self, connection: Connection) -> None:
        """Has a connection read as soon as there is something to read."""
        if connection.is_first is None:
            connection.is_first = True
            self._loop.add_reader(connection.end, connection.read)

    def pause(self, connection: Connection) -> None:
        """Has a connection not read until further notice."""
        if connection.is_first:
            self._loop.remove_reader(connection.end)
        elif connection.is_first is not None:
            self._selector.unregister(connection.end)
        connection.is_first = None

    def write(self, connection: Connection) -> None:
        """Has a connection written as soon as it takes something."""
        self._loop.add_writer(connection.end, connection.write)

    def end_write(self, connection: Connection) -> None:
        """Has a connection not written any more."""
        self._loop.remove_writer(connection.end)

    def forget(self, connection: Connection) -> None:
        """Records that a connection has ended."""
        self.pause(connection)
        self.end_write(connection)
        self._ended.set()

    def _sweep(self) -> None:
        for connection in self._admission.expired(time.monotonic()):
            connection.expire()
        self._sweeping = self._loop.call_later(_SWEEP, self._sweep)
