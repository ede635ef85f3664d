"""Control channel: remote calls in both directions between a supervisor and a worker process, as lines of JSON."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from thalweg._src.base import errors
from thalweg._src.deploy.serving.service import typed

_MAX_LINE = 1 << 28
Handlers = Mapping[str, Callable[[Any], Awaitable[Any]]]


class ControlChannel:
    """One end of a socket, at which a process answers calls of the other one and calls it.

    Args:
        handlers: The functions that the other process may call, by name.
    """

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._answering: set[asyncio.Task[None]] = set()  # the loop itself holds its tasks only weakly
        self._is_open = True

    async def open(self, end: socket.socket) -> None:
        """Takes the socket."""
        self._reader, self._writer = await asyncio.open_connection(sock=end, limit=_MAX_LINE)

    async def serve(self) -> None:
        """Answers calls until the other process has closed its end."""
        try:
            while line := await self._reader.readline():
                message = json.loads(line)
                if "call" in message:
                    task = asyncio.create_task(self._answer(message))
                    self._answering.add(task)
                    task.add_done_callback(self._answering.discard)
                elif (waiting := self._waiting.get(message["number"])) is not None and not waiting.done():
                    waiting.set_result(message)
        except ConnectionError:
            pass
        finally:
            self._is_open = False
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(_gone())
            self._writer.close()

    async def call(self, name: str, value: Any = None) -> Any:
        """Calls a function of the other process and returns its result."""
        if not self._is_open:
            raise _gone()
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._send({"number": number, "call": name, "value": value})
            message = await self._waiting[number]
        finally:
            del self._waiting[number]
        if "error" in message:
            code, text = message["error"]
            raise errors.exception_type_from_error_code(code)(None, None, text)
        return message["value"]

    async def _answer(self, message: dict[str, Any]) -> None:
        answer: dict[str, Any] = {"number": message["number"]}
        try:
            answer["value"] = await self._handlers[message["call"]](message["value"])
        except Exception as error:
            op_error = typed(error)
            answer["error"] = op_error.error_code, op_error.message
        if self._is_open:
            self._send(answer)

    def _send(self, message: dict[str, Any]) -> None:
        self._writer.write(json.dumps(message).encode() + b"\n")


def _gone() -> errors.UnavailableError:
    return errors.UnavailableError(None, None, "the other process has ended")
