"""The event loop of a server: one thread reads requests and writes answers, others compute what takes long."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from thalweg._src.base import errors

_LARGE = 1 << 16  # bytes; what is larger would keep other requests waiting while it is read or written
Result = TypeVar("Result")


class EventLoop:
    """An asyncio loop on a thread of its own, that of uvloop if it is installed.

    The loop must never wait: while it parses a large request or runs a model, no other connection is read. Such work is
    done by threads, in two pools, so that requests that are read and written cannot delay a batch, nor the other way
    around. What is small stays in the loop, since to wake a thread takes longer (some 50 us).

    Args:
        threads: How many requests are read and written at the same time beside the loop.
        batches: How many batches are computed at the same time, on threads that do nothing else: each has OpenMP
            threads of its own, which sleep between kernels instead of spinning once there are more of them than cores.
    """

    def __init__(self, threads: int, batches: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="thalweg serving")
        self._computing = ThreadPoolExecutor(batches, thread_name_prefix="thalweg serving batch")
        self._loop = _new_loop()
        self._thread = threading.Thread(target=self._serve, name="thalweg serving loop", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Runs a coroutine in the loop and waits for its result; called by other threads."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def in_thread(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Calls a function on another thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    async def compute(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Calls a function that runs a model, on another thread."""
        return await asyncio.get_running_loop().run_in_executor(self._computing, function, *arguments)

    async def in_thread_if_large(self, size: int, function: Callable[..., Result], *arguments: Any) -> Result:
        """Calls a function that takes long for many bytes: on another thread if there are many."""
        return function(*arguments) if size < _LARGE else await self.in_thread(function, *arguments)

    def close(self) -> None:
        """Ends the threads."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        for pool in (self._pool, self._computing):
            pool.shutdown(wait=True, cancel_futures=True)


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()  # type: ignore[no-any-return]


async def with_deadline(
    deadline: float | None, coroutine: Coroutine[Any, Any, Result], clock: Callable[[], float] = time.monotonic
) -> Result:
    """Waits for a coroutine, which is cancelled at a deadline of a clock."""
    if deadline is None:
        return await coroutine
    try:
        async with asyncio.timeout(deadline - clock()):
            return await coroutine
    except TimeoutError:
        message = "the deadline passed while the request waited"
        raise errors.DeadlineExceededError(None, None, message) from None
