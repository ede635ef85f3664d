"""Executable: the programs of one step signature, compiled once, run many times."""

from __future__ import annotations

import functools
import itertools
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from thalweg._src.base import errors
from thalweg._src.base.dtypes import resource, variant
from thalweg._src.compiler.partition.graphdef import partition_graph_def
from thalweg._src.compiler.partition.host_memory import on_host
from thalweg._src.compiler.place.place import Placement
from thalweg._src.graph.gc_pause import collector_paused
from thalweg._src.graph.ir.step_graph import Output
from thalweg._src.runtime.compile.failure import explain
from thalweg._src.runtime.compile.inductor import warn
from thalweg._src.runtime.compile.tiers import StepTiers, Tier, Tiers
from thalweg._src.runtime.execute.program import Program
from thalweg._src.runtime.execute.run import Run, new_run
from thalweg._src.runtime.execute.sync_run import SynchronousRun, as_synchronous_run
from thalweg._src.runtime.execute.token_run import TokenRun
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.thread_pool import threads

_InferenceMode = torch._C._InferenceMode
# Kernels flush denormals to zero, as TensorFlow's do: computing with them is a hundred times slower, and the moments of
# an optimizer decay into them. A step runs on the caller's thread, whose mode it restores at the end.
COMPILE_AFTER_SECONDS = 10.0  # spent in steps of one signature before it is compiled in the background
_SOON = 1.0  # seconds in which a thread returns what it has
_TINY = 5e-324  # nonzero only in a thread that keeps denormals


class Executable:
    """Runs the programs of a step: takes feeds, returns fetched values.

    compiles: whether programs that run often are compiled in the background
    tiers: those of the programs
    before: called before each step
    """

    def __init__(
        self,
        programs: Sequence[Program],
        num_fetches: int,
        placement: Placement,
        compiles: bool = False,
        tiers: Tiers | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:
        self.programs = list(programs)
        self._before = before
        structured = not any(program.is_unstructured for program in programs)
        self._tiers = tiers or Tiers()
        self._tiers.step = StepTiers(any(program.large for program in programs), compiles and structured)
        self.steps = itertools.count()  # step counter for periodic cost measurement
        self.placement = placement
        self._num_fetches = num_fetches
        self._arriving = [
            (position, program.device)
            for program in programs
            for position, (node, _) in program.numbered_fetches
            if node.type == "_CopyToHost"
            and program.device.torch.type != "cpu"
            and node.dtypes[0] not in (resource, variant)
        ]
        self._function: Callable[..., Any] | None = None
        if len(programs) == 1 and not programs[0].waiting and not programs[0].is_unstructured:
            self._function = self._next_tier if programs[0].large else programs[0].functions[0]
        elif len(programs) == 1:
            self._function = as_synchronous_run(programs[0])

    @property
    def function(self) -> Callable[..., Any] | None:
        """The function of a step without blocking nodes."""
        return None if any(program.waiting for program in self.programs) else self._function

    @functools.cached_property
    def host_feeds(self) -> list[int]:
        """The feeds that are taken from host memory."""
        return [feed.attrs["index"] for program in self.programs for feed in program.feeds if on_host(Output(feed, 0))]

    @functools.cached_property
    def fetch_devices(self) -> list[Device | None]:
        """The accelerator in whose memory each fetched value is; None for host memory, and for handles."""
        found: list[Device | None] = [None] * self._num_fetches
        for program in self.programs:
            for position, (node, index) in program.numbered_fetches:
                is_value = node.dtypes[index] not in (resource, variant)
                if program.device.type != "CPU" and is_value and not on_host(Output(node, index)):
                    found[position] = program.device
        return found

    @property
    def text(self) -> str:
        return "\n".join(program.text for program in self.programs)

    def partition_graphs(self) -> list[Any]:
        """Returns the partition of each device as a GraphDef."""
        return [partition_graph_def(p.nodes, p.numbered_fetches, p.device.name) for p in self.programs]

    def run(self, step: Step, feeds: Sequence[Any]) -> Sequence[Any]:
        """Runs one step; blocks until it has finished or failed."""
        if not self._tiers.step.compiles:
            return self._run(step, feeds) if step.deadline is None else self._run_limited(step, feeds)
        start = time.perf_counter()
        values = self._run(step, feeds) if step.deadline is None else self._run_limited(step, feeds)
        if self._tiers.step_ran(time.perf_counter() - start, COMPILE_AFTER_SECONDS):
            threads.start(self._compile)
        return values

    def _compile(self) -> None:
        """Compiles the programs while steps continue; later steps run the compiled functions."""
        try:
            for program in self.programs:
                program.functions = program.compile_in_background()
        except Exception as error:  # no caller waits for this thread
            warn(repr(error))
            return
        if self._function is not None and not self.programs[0].waiting:
            self._function = self.programs[0].functions[0]

    def _run(self, step: Step, feeds: Sequence[Any]) -> Sequence[Any]:
        function = self._function
        if function is None or step.trace is not None:
            return self._run_programs(step, feeds)
        if self._before is not None:
            self._before()
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
        if step.cancelled and not isinstance(function, SynchronousRun):  # that has stopped, or has its results
            step.stop()
        return self._arrived(values) if self._arriving else values

    def _run_limited(self, step: Step, feeds: Sequence[Any]) -> Sequence[Any]:
        if self._function is None or step.trace is not None:
            return self._run_programs(step, feeds)
        return self._run_apart(step, lambda: self._run(step, feeds))

    def _run_apart(self, step: Step, work: Callable[[], Sequence[Any]]) -> Sequence[Any]:
        """Runs work of a step on a thread of the pool, and waits for it no longer than until the step's deadline.

        No thread can end a kernel that another one runs. Work that is left behind ends with that kernel, or at the next
        check for cancellation; its results are dropped, and it begins no more change of state.
        """
        over = step.finished = step.event()
        if step.cancelled:  # before there was an event to set: nothing would wake us
            step.stop()
        results: list[Sequence[Any]] = []

        def run() -> None:
            try:
                results.append(work())
            except BaseException as error:
                step.fail(error)
            over.set()

        threads.start(run)
        try:
            step.wait(over)
        except BaseException:
            step.fail(errors.CancelledError(None, None, "Step was interrupted."))
            raise
        function = self._function
        while isinstance(function, SynchronousRun) and function.is_ending(step) and not over.wait(_SOON):
            pass
        if not results:  # what came as the time was up counts: it may be an element that is in no queue any more
            step.stop()
        return results.pop()

    def _arrived(self, values: Sequence[Any]) -> list[Any]:
        """Waits for all copies from accelerators at once, and copies them out of the pinned staging buffers."""
        for device in {device.name: device for _, device in self._arriving}.values():
            device.synchronize()
        result = list(values)
        for position, _ in self._arriving:
            result[position] = result[position].clone()
        return result

    def _next_tier(self, step: Step, *feeds: Any) -> Sequence[Any]:
        """Interprets a large program on its first run, and generates its code on the second."""
        program = self.programs[0]
        with collector_paused():
            if self._tiers.step_called() is Tier.INTERPRET:
                return program.interpret(program.segments[0], step, feeds)
            self._function = program.functions[0]
        values: Sequence[Any] = self._function(step, *feeds)
        return values

    def explain_fetch(self, error: Exception, values: Sequence[Any]) -> BaseException:
        """Returns the typed error for a fetched value that could not be converted, naming the largest."""
        position = max(range(len(values)), key=lambda i: math.prod(getattr(values[i], "shape", ())))
        for program in self.programs:
            for number, (node, _) in program.numbered_fetches:
                if number == position:
                    return explain(error, node, None, program.device.name)
        return error

    def _run_programs(self, step: Step, feeds: Sequence[Any]) -> Sequence[Any]:
        finished = step.finished = step.event()
        if step.cancelled:  # the step ended before there was an event to set
            step.stop()
        is_done = False

        def done() -> None:
            nonlocal is_done
            is_done = True
            finished.set()

        try:
            runs = self.start(step, feeds, done, here=step.deadline is None)
            step.wait(finished)
        except BaseException:
            step.fail(errors.CancelledError(None, None, "Step was interrupted."))
            raise
        if not is_done:
            step.stop()
        values = self._gather(runs)
        if not self._arriving:
            return values
        return self._arrived(values) if step.deadline is None else self._run_apart(step, lambda: self._arrived(values))

    def start(
        self, step: Step, feeds: Sequence[Any], done: Callable[[], None], here: bool = False
    ) -> list[Run | TokenRun]:
        """Starts all programs of a step; `done` is called when the last one ends.

        here: whether this thread may run one of them; otherwise the call returns at once.
        """
        if self._before is not None:
            self._before()
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
