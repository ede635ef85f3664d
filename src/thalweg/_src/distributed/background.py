"""Calls in the background: work that another thread waits for, or does not."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from thalweg._src.resources.workers import workers

T = TypeVar("T")


def call(function: Callable[..., T], *args: Any) -> Future[T]:
    """Calls a function on a thread of its own, for which the interpreter does not wait at exit.

    At exit, when sessions that are still open are closed, there are no new threads: it is called on this one.
    """
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)

    if not workers.start(work):
        work()
    return future
