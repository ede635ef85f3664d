"""TLS for a connection that one thread reads while another one writes."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from typing import Any

_CHUNK = 1 << 18  # bytes that are encrypted while the other thread waits


class TlsSocket:
    """A socket that encrypts, with the methods that a connection needs.

    OpenSSL allows one call at a time on a connection, and Python's SSLSocket waits inside of such a call: here both
    threads wait outside of the lock.
    """

    def __init__(self, sock: ssl.SSLSocket) -> None:
        self._socket = sock
        self._timeout = sock.gettimeout()
        self._send_limit: float | None = None
        self._lock = threading.Lock()
        self.family = sock.family
        self.fileno = sock.fileno
        self.setsockopt = sock.setsockopt
        self.getsockopt = sock.getsockopt
        self.getpeername = sock.getpeername
        self.getpeercert = sock.getpeercert
        self.close = sock.close
        sock.setblocking(False)

    def settimeout(self, seconds: float | None) -> None:
        self._timeout = seconds

    def limit_sends(self, seconds: float) -> None:
        """Limits the time for which the other end may read nothing; sending raises BlockingIOError afterwards."""
        self._send_limit = seconds

    def pending(self) -> int:
        """Returns how many bytes can be read although the file descriptor may not be readable."""
        with self._lock:
            return self._socket.pending()

    def recv(self, size: int) -> bytes:
        buffer = bytearray(size)
        return bytes(buffer[: self.recv_into(buffer)])

    def recv_into(self, buffer: Any) -> int:
        return self._when_ready(self._socket.recv_into, buffer)

    def sendall(self, data: Any) -> None:
        """Sends all bytes; the caller makes sure that no other thread sends at the same time."""
        rest = memoryview(data).cast("B")
        while rest:
            rest = rest[self._when_ready(self._socket.send, rest[:_CHUNK]) :]

    def _when_ready(self, call: Any, buffer: Any) -> int:
        # The lock is held for calls that return at once, since the socket does not block, and not for the wait between
        # them: a reader that waits for bytes of the other end does not keep this end from sending, which may be what
        # the other end waits for. What the poll sees may be taken by the other thread meanwhile; the call then says so,
        # and waits again.
        while True:
            try:
                with self._lock:
                    done: int = call(buffer)
                    return done
            except ssl.SSLWantReadError:
                event = select.POLLIN
            except ssl.SSLWantWriteError:
                event = select.POLLOUT
            poll = select.poll()
            poll.register(self._socket, event)
            if event == select.POLLOUT and self._send_limit is not None:
                if not poll.poll(self._send_limit * 1000):
                    raise BlockingIOError("timed out")
            elif not poll.poll(None if self._timeout is None else self._timeout * 1000):
                raise TimeoutError("timed out")

    def shutdown(self, how: int) -> None:
        """Ends the connection below TLS: SSLSocket.shutdown would let the other thread read the encrypted bytes."""
        socket.socket.shutdown(self._socket, how)
