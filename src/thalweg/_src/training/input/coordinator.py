"""Coordinator: stops a group of threads together, and raises the first error among them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from thalweg._src.base import errors, logging
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly

_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.1  # seconds between two checks of threads that have not ended yet


@export("train.Coordinator")
class Coordinator:
    """Coordinates the end of threads: a thread that fails or finishes requests a stop, and `join` waits for all.

    `join` re-raises the first error, except for those of `clean_stop_exception_types`, by default the end of the input.
    """

    joined = ReadOnly[bool]("Whether `join` has returned.")

    def __init__(self, clean_stop_exception_types: Sequence[type[BaseException]] | None = None) -> None:
        types = (errors.OutOfRangeError,) if clean_stop_exception_types is None else clean_stop_exception_types
        self._clean_types: tuple[type[BaseException], ...] = tuple(types)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._threads: set[threading.Thread] = set()
        self._recoverable: tuple[type[BaseException], ...] = ()  # errors after which the session is replaced

    @property
    def will_recover(self) -> bool:
        """Whether the session of the threads is lost, and is replaced by one that continues."""
        return isinstance(self._error, self._recoverable)

    def recover_from(self, *types: type[BaseException]) -> None:
        """Sets the errors after which a monitored session replaces the session of the threads."""
        self._recoverable = types

    def request_stop(self, ex: object = None) -> None:
        """Requests all threads to stop; `join` raises the first error passed here."""
        error = ex[1] if isinstance(ex, tuple) else ex
        if isinstance(error, self._clean_types):
            error = None
        if error is not None and not isinstance(error, BaseException):
            raise TypeError(f"ex: expected an exception or the result of sys.exc_info(), received {ex!r}")
        with self._lock:
            if self._joined:
                if error is not None:
                    raise error
                return
            if self._stop.is_set():
                return
            if error is not None and self._error is None:
                logging.info("Error reported to Coordinator: %s, %s", type(error), error)
                self._error = error
            self._stop.set()

    def clear_stop(self) -> None:
        """Clears the request to stop and its error."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Returns whether a stop was requested."""
        return self._stop.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Requests a stop with any exception that leaves the block."""
        try:
            yield
        except BaseException as error:
            self.request_stop(error)

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until a stop is requested; returns False on timeout."""
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Makes `join` wait for a thread."""
        with self._lock:
            self._threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits until all threads have ended, or until a grace period after a request to stop; raises the first error.

        Threads that run on after the grace period are an error, unless they are to be ignored.
        """
        with self._lock:
            waited = list(self._threads.union(threads or ()))
        pause = _FIRST_PAUSE
        while any(thread.is_alive() for thread in waited) and not self.wait_for_stop(pause):
            pause = min(2 * pause, _LONGEST_PAUSE)
        deadline = time.monotonic() + stop_grace_period_secs
        for thread in waited:
            if thread.is_alive():  # even if no time is left: it may be about to end
                thread.join(max(0.0, deadline - time.monotonic()))
        left = [thread.name for thread in waited if thread.is_alive()]
        with self._lock:
            self._joined = True
            self._threads = set()
            error = self._error
        if error is not None:
            raise error
        if left and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(left)}")
        if left:
            logging.info("Coordinator stopped with threads still running: %s", " ".join(left))

    def raise_requested_exception(self) -> None:
        """Raises the error that was passed with a request to stop, if there was one."""
        with self._lock:
            error = self._error
        if error is not None:
            raise error


@export("train.LooperThread")
class LooperThread(threading.Thread):
    """Calls a function repeatedly until the coordinator stops; an exception stops all threads.

    Args:
        coord: The coordinator.
        timer_interval_secs: Seconds between calls; None calls without a pause.
        target: Function to call.
        args: Positional arguments of the function.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"coord: expected a Coordinator, received {coord!r}")
        super().__init__()
        self.daemon = True
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        self._target_function = target
        self._target_args: Any = args or ()
        self._target_kwargs = kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> LooperThread:
        """Starts a thread that calls the function at an interval in seconds, or without a pause if it is None."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._timer_interval_secs is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                due = time.time()
                while not self._coord.wait_for_stop(max(0.0, due - time.time())):
                    due += self._timer_interval_secs
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called before the first iteration."""

    def stop_loop(self) -> None:
        """Called after the last iteration."""

    def run_loop(self) -> None:
        """Called in each iteration."""
        if self._target_function is not None:
            self._target_function(*self._target_args, **self._target_kwargs)
