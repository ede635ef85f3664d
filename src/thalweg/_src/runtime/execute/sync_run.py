"""Synchronous runs: a program with one blocking node runs on the calling thread, which blocks itself.

Most steps that use a queue have one blocking node. They need no dependency counts and no other thread, and do not wait
at all if the node finishes immediately.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any

from thalweg._src.base import errors
from thalweg._src.graph.ir.step_graph import Output
from thalweg._src.runtime.compile.failure import explain
from thalweg._src.runtime.execute.program import Program
from thalweg._src.runtime.resources.step import Pump, PumpedEvent, Step

_SIGNAL_CHECK_SECONDS = 1.0  # between checks for Ctrl-C


def as_synchronous_run(program: Program) -> SynchronousRun | None:
    """Returns a program with a single blocking node as one function; None for any other program."""
    if program.is_unstructured or program.large or len(program.waiting) != 1:
        return None
    node = program.waiting[0]
    return None if node.guard or node.type == "_While" else SynchronousRun(program)


class _Awaited:
    """The results of a blocking node, and a lock that is released when they arrive or the step is cancelled."""

    __slots__ = ("_lock", "results")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self.results: tuple[Any, ...] | None = None

    def finish(self, *results: object) -> None:
        self.results = results
        self.set()

    def set(self) -> None:
        """Wakes the calling thread; called when the step is cancelled."""
        with contextlib.suppress(RuntimeError):  # another thread, with the results, has released it
            self._lock.release()

    def wait(self) -> None:
        self._lock.acquire()


class _PumpedAwaited(PumpedEvent):
    """The same for a thread that handles messages of other tasks meanwhile."""

    __slots__ = ("results",)

    def __init__(self, pump: Pump) -> None:
        super().__init__(pump)
        self.results: tuple[Any, ...] | None = None

    def finish(self, *results: object) -> None:
        self.results = results
        self.set()

    def wait(self, timeout: float = _SIGNAL_CHECK_SECONDS) -> bool:
        while not super().wait(timeout):
            pass
        return True


class SynchronousRun:
    """Runs the segments before and after a blocking node, and waits in between, on the caller's thread."""

    __name__ = "synchronous_run"

    def __init__(self, program: Program) -> None:
        self._program = program
        self._node = program.waiting[0]
        self._feeds: list[Output] = [Output(feed, 0) for feed in program.feeds]
        constants, working = program.bound.constants, program.schedule.works
        # With one blocking node there are two sets of ancestors, so the segments fall into those before it and those
        # after it, each in topological order: no counters, no lock, and no other thread is needed.
        self._constants = {o: constants[o] for o in (*self._node.inputs, *program.fetches) if o in constants}
        self._before = [s.index for s in program.segments if not s.ancestors and working[s.index]]
        self._after = [s.index for s in program.segments if s.ancestors and working[s.index]]
        self._fetches = [output for _, output in sorted(program.numbered_fetches, key=lambda pair: pair[0])]

    def __call__(self, step: Step, *feeds: object) -> Sequence[Any]:
        values: dict[Output, Any] = {**self._constants, **dict(zip(self._feeds, feeds))}
        for index in self._before:
            self._run_segment(index, step, values)
        node = self._node
        for i, value in enumerate(self._wait(step, [values[output] for output in node.inputs])):
            values[Output(node, i)] = value
        for index in self._after:
            self._run_segment(index, step, values)
        return [values[output] for output in self._fetches]

    def is_ending(self, step: Step) -> bool:
        """Returns whether the node of a step has finished, and nothing is left to compute."""
        return not self._after and getattr(step.finished, "results", None) is not None

    def _run_segment(self, index: int, step: Step, values: dict[Output, Any]) -> None:
        transaction = step.transaction
        if transaction is None:
            self._compute(index, step, values)
            return
        if not transaction.enter():
            step.stop()
        try:
            self._compute(index, step, values)
        finally:
            transaction.leave()

    def _compute(self, index: int, step: Step, values: dict[Output, Any]) -> None:
        segment = self._program.segments[index]
        try:
            results = self._program.functions[index](step, *[values[output] for output in segment.inputs])
        except BaseException as error:
            failure = self._program.explain(error) if isinstance(error, Exception) else error
            step.fail(failure)  # notifies its other waiters, which may hold resources
            raise failure from None
        values.update(zip(segment.outputs, results))

    def _wait(self, step: Step, inputs: list[Any]) -> tuple[Any, ...]:
        program, node = self._program, self._node
        awaited = step.finished = _Awaited() if step.pump is None else _PumpedAwaited(step.pump)
        if step.cancelled:
            step.stop()
        # `finished` is set before the check for cancellation: a cancellation that comes earlier is seen here, one that
        # comes later finds the object to wake.
        step.waiting.add(node.name)
        try:
            program.bound.waiting[node].function(step, awaited.finish, *inputs)
        except Exception as error:
            raise explain(error, node, inputs, program.device.name) from None
        try:
            if awaited.results is None:
                awaited.wait()
        except BaseException:  # an interrupt: the node must not complete any more
            step.fail(errors.CancelledError(None, None, "Step was interrupted."))
            raise
        if awaited.results is None:
            step.stop()
        step.waiting.discard(node.name)
        results, awaited.results = awaited.results, ()  # the step must not keep them alive
        return results or ()
