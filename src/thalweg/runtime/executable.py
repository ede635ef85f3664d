"""Executable: the programs of one kind of step, compiled once, run many times."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from thalweg import errors
from thalweg.execute.failure import explain
from thalweg.execute.program import Program
from thalweg.execute.run import Run, new_run
from thalweg.execute.tokens import TokenRun
from thalweg.graph.collection import collector_paused
from thalweg.place.place import Placement
from thalweg.runtime.step import Step

_InferenceMode = torch._C._InferenceMode
# Kernels treat denormal numbers as zero, as TensorFlow's do: they are rare, mean nothing, and cost a hundred times as
# much as others; the moments of an optimizer decay into them. A step borrows the caller's thread, and its mode with it.
_TINY = 5e-324  # is not zero in a thread that computes with denormals


class Executable:
    """Runs programs over shared state: feeds in, fetched values out."""

    def __init__(self, programs: Sequence[Program], num_fetches: int, placement: Placement) -> None:
        self.programs = list(programs)
        self.placement = placement
        self._num_fetches = num_fetches
        self._function: Callable[..., Any] | None = None
        if len(programs) == 1 and not programs[0].waiting and not programs[0].is_free:
            self._function = self._first_run if programs[0].large else programs[0].codes[0].function

    @property
    def text(self) -> str:
        return "\n".join(program.text for program in self.programs)

    def run(self, step: Step, feeds: Sequence[Any]) -> Sequence[Any]:
        """Runs one step; blocks until it is over or has failed."""
        function = self._function
        if function is None or step.trace is not None:
            return self._run_programs(step, feeds)
        guard = _InferenceMode(True)
        borrowed = _TINY * 1.0 != 0.0
        if borrowed:
            torch.set_flush_denormal(True)
        try:
            values: Sequence[Any] = function(step, *feeds)
        except Exception as error:
            raise self.programs[0].explain(error) from None
        finally:
            del guard
            if borrowed:
                torch.set_flush_denormal(False)
        if step.cancelled:
            step.stop()
        return values

    def _first_run(self, step: Step, *feeds: Any) -> Sequence[Any]:
        """Interprets a large program once: whoever runs it a second time waits for the compiler, and is repaid."""
        self._function = self._second_run
        program = self.programs[0]
        with collector_paused():
            return program.interpret(program.segments[0], step, feeds)

    def _second_run(self, step: Step, *feeds: Any) -> Sequence[Any]:
        with collector_paused():
            self._function = self.programs[0].codes[0].function
        values: Sequence[Any] = self._function(step, *feeds)
        return values

    def explain_fetch(self, error: Exception, values: Sequence[Any]) -> BaseException:
        """Returns the typed error for a value that could not be handed over: the largest is to blame."""
        position = max(range(len(values)), key=lambda i: math.prod(getattr(values[i], "shape", ())))
        for program in self.programs:
            for number, (node, _) in program.numbered_fetches:
                if number == position:
                    return explain(error, node, None, program.device.name)
        return error

    def _run_programs(self, step: Step, feeds: Sequence[Any]) -> Sequence[Any]:
        finished = step.finished = threading.Event()
        if step.cancelled:  # before there was anything to set: nobody would wake us
            step.stop()
        try:
            runs = self.start(step, feeds, finished.set, here=True)
            finished.wait()
        except BaseException:
            step.fail(errors.CancelledError(None, None, "Step was interrupted."))
            raise
        if step.cancelled:
            step.stop()
        return self._gather(runs)

    def start(
        self, step: Step, feeds: Sequence[Any], done: Callable[[], None], here: bool = False
    ) -> list[Run | TokenRun]:
        """Starts all programs of a step; `done` is called when the last one ends.

        here: this thread may work on one of them; if not, it is back at once.
        """
        step.share()
        left = [len(self.programs)]
        lock = threading.Lock()

        def one_done() -> None:
            with lock:
                left[0] -= 1
                over = left[0] == 0
            if over:
                done()

        runs = [
            new_run(program, step, [feeds[feed.attrs["index"]] for feed in program.feeds], one_done)
            for program in self.programs
        ]
        for index, run in enumerate(runs):
            run.start(here=here and index == len(runs) - 1)
        if not runs:
            done()
        return runs

    def _gather(self, runs: Sequence[Run | TokenRun]) -> list[Any]:
        values: list[Any] = [None] * self._num_fetches
        for program, run in zip(self.programs, runs):
            for position, output in program.numbered_fetches:
                values[position] = run.values[output]
        return values
