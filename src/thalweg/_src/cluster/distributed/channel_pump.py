"""Channel pump: a master's thread reads the channels of its step while its own part of the step waits.

So a tensor that another task sends to the master reaches the thread that needs it, without another one in between.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Collection
from typing import Any, Protocol

from thalweg._src.cluster.distributed.connection import Connection

AVAILABLE = hasattr(os, "eventfd")


class Answering(Protocol):
    """The answer of a task on a channel, before which tensors for this task arrive."""

    connection: Connection

    @property
    def error(self) -> BaseException | None:
        """The error of the answer."""

    def handle(self, deliver: Callable[[str, Any], None]) -> bool:
        """Reads a message: delivers a tensor, or takes the answer; returns whether it was the answer."""

    def ping(self) -> None:
        """Makes sure that a lost message is noticed."""


class ChannelPump:
    """Waits for the channels of one step, and for other threads that wake it."""

    def __init__(
        self,
        answers: Collection[Answering],
        deliver: Callable[[str, Any], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._deliver = deliver
        self._fail = fail
        self._owner = threading.get_ident()
        self._lock = threading.Lock()
        self._is_closed = False
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._answers = {answer.connection.socket.fileno(): answer for answer in answers}
        self._poll = select.poll()
        for fd in (self._wake, *self._answers):
            self._poll.register(fd, select.POLLIN)

    def wait(self, seconds: float) -> None:
        """Handles the messages that are there, or waits for the next ones."""
        # Bytes that were read ahead do not make a descriptor readable: without this look, a whole message could lie in
        # the buffer while the poll waits for the next one.
        ready = [fd for fd, answer in self._answers.items() if answer.connection.has_bytes]
        if not ready:
            ready = [fd for fd, _ in self._poll.poll(seconds * 1000)]
        if not ready and seconds > 0:
            for answer in self._answers.values():
                answer.ping()
        for fd in ready:
            if fd == self._wake:
                os.eventfd_read(fd)
            elif self._answers[fd].handle(self._deliver):
                self._poll.unregister(fd)
                answer = self._answers.pop(fd)
                if answer.error is not None:
                    self._fail(answer.error)

    def wake(self) -> None:
        # A flag is set before the pump is woken, and looked at before the pump waits. The event keeps its count until
        # it is read, so a wake between that look and the poll ends the poll; one of the owner itself is not needed. The
        # lock keeps a late wake from writing to a descriptor that has been closed, whose number may be that of another
        # file.
        if threading.get_ident() != self._owner:
            with self._lock:
                if not self._is_closed:
                    os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            os.close(self._wake)
