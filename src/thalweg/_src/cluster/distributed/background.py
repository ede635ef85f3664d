"""Work in the background: calls that another thread waits for, or does not, and long work that lets others go first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from thalweg._src.runtime.resources.workers import workers

T = TypeVar("T")
_PAUSE_SECONDS = 0.0005


def call(function: Callable[..., T], *args: Any) -> Future[T]:
    """Calls a function on a thread of its own, for which the interpreter does not wait at exit.

    At exit, when sessions that are still open are closed, there are no new threads: it is called on this one.
    """
    # Not in a pool of a fixed size, where calls that wait for another task could hold up the one that it waits for.
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)

    if not workers.start(work):
        work()
    return future


def with_pauses(items: Iterable[T], every: int) -> Iterator[T]:
    """Yields items with a pause after every so many, in which threads that answer calls go on.

    One that wants the interpreter's lock seldom gets it from a thread that gives it up for short calls of the system:
    it was taken back before the other one is awake.
    """
    for number, item in enumerate(items, 1):
        yield item
        if number % every == 0:
            time.sleep(_PAUSE_SECONDS)
