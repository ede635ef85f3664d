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
from thalweg._src.base.determinism import is_required
from thalweg._src.base.dtypes import resource, variant
from thalweg._src.compiler.partition.graphdef import partition_graph_def
from thalweg._src.compiler.partition.host_memory import on_host
from thalweg._src.compiler.place.place import Placement
from thalweg._src.graph.gc_pause import collector_paused
from thalweg._src.graph.ir.step_graph import Output
from thalweg._src.runtime import determinism  # noqa: F401  follows the environment variable
from thalweg._src.runtime.compile.failure import explain
from thalweg._src.runtime.compile.inductor import warn
from thalweg._src.runtime.compile.tiers import StepTiers, Tier, Tiers
from thalweg._src.runtime.execute.program import Program
from thalweg._src.runtime.execute.run import Run, new_run
from thalweg._src.runtime.execute.sync_run import SynchronousRun, as_synchronous_run
from thalweg._src.runtime.execute.token_run import TokenRun
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.thread_pool import SMALLEST_DENORMAL, threads

COMPILE_AFTER_SECONDS = 10.0  # spent in steps of one signature before it is compiled in the background
_HANDOVER_SECONDS = 1.0  # in which a thread returns what it has
_InferenceMode = torch._C._InferenceMode


class Executable:
    """Runs the programs of a step: takes feeds, returns fetched values.

    compiles: whether programs that run often are compiled in the background
    tiers: those of the programs
    join_streams: called before each step, so that it sees what earlier steps launched on other streams
    """

    def __init__(
        self,
        programs: Sequence[Program],
        num_fetches: int,
        placement: Placement,
        compiles: bool = False,
        tiers: Tiers | None = None,
        join_streams: Callable[[], None] | None = None,
    ) -> None:
        self.programs = list(programs)
        self._join_streams = join_streams
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
        # The shortest way for the most common steps: one program without blocking nodes is its function, one with a
        # single blocking node a function too, both on the caller's thread. Only other steps need runs, with an event
        # and the thread pool (`_run_partitions`).
        if len(programs) == 1 and not programs[0].waiting and not programs[0].is_unstructured:
            self._function = self._call_next_tier if programs[0].large else programs[0].functions[0]
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
        devices: list[Device | None] = [None] * self._num_fetches
        for program in self.programs:
            for position, (node, index) in program.numbered_fetches:
                is_value = node.dtypes[index] not in (resource, variant)
                if program.device.type != "CPU" and is_value and not on_host(Output(node, index)):
                    devices[position] = program.device
        return devices

    @property
    def text(self) -> str:
        return "\n".join(program.text for program in self.programs)

    def partition_graphs(self) -> list[Any]:
        """Returns the partition of each device as a GraphDef."""
        return [partition_graph_def(p.nodes, p.numbered_fetches, p.device.name) for p in self.programs]

    def run(self, step: Step, feeds: Sequence[Any]) -> Sequence[Any]:
        """Runs one step; blocks until it has finished or failed."""
        if not self._tiers.step.compiles:
            return self._call_function(step, feeds) if step.deadline is None else self._call_with_deadline(step, feeds)
        start = time.perf_counter()
        values = self._call_function(step, feeds) if step.deadline is None else self._call_with_deadline(step, feeds)
        is_hot = self._tiers.step_ran(time.perf_counter() - start, COMPILE_AFTER_SECONDS)
        if is_hot and not is_required():
            threads.start(self._compile)
        return values

    def _compile(self) -> None:
        """Compiles the programs while steps continue; later steps run the compiled functions."""
        try:
            # Each assignment is atomic, and the functions before and after it compute the same values: a step that runs
            # meanwhile may use old ones for one program and new ones for another.
            for program in self.programs:
                program.functions = program.compile_in_background()
        except Exception as error:  # no caller waits for this thread
            warn(repr(error))
            return
        if self._function is not None and not self.programs[0].waiting:
            self._function = self.programs[0].functions[0]

    def _call_function(self, step: Step, feeds: Sequence[Any]) -> Sequence[Any]:
        function = self._function
        if function is None or step.trace is not None:
            return self._run_partitions(step, feeds)
        if self._join_streams is not None:
            self._join_streams()
        # The context `computing` written out: entering and leaving that would cost each step 0.3 microseconds.
        guard = _InferenceMode(True)
        keeps_denormals = SMALLEST_DENORMAL * 1.0 != 0.0
        if keeps_denormals:
            torch.set_flush_denormal(True)
        try:
            values: Sequence[Any] = function(step, *feeds)
        except Exception as error:
            raise self.programs[0].explain(error) from None
        finally:
            del guard
            if keeps_denormals:
                torch.set_flush_denormal(False)
        if step.cancelled and not isinstance(function, SynchronousRun):  # that has stopped, or has its results
            step.stop()
        return self._arrived(values) if self._arriving else values

    def _call_with_deadline(self, step: Step, feeds: Sequence[Any]) -> Sequence[Any]:
        if self._function is None or step.trace is not None:
            return self._run_partitions(step, feeds)
        return self._until_deadline(step, lambda: self._call_function(step, feeds))

    def _until_deadline(self, step: Step, work: Callable[[], Sequence[Any]]) -> Sequence[Any]:
        """Runs work of a step on a thread of the pool, and waits for it no longer than until the step's deadline.

        No thread can end a kernel that another one runs. Work that is left behind ends with that kernel, or at the next
        check for cancellation; its results are dropped, and it begins no more change of state.
        """
        # Three threads meet here: this one waits, a worker computes, and another one may cancel. The event is created
        # before the check for cancellation, so that a cancellation is either seen here or wakes the wait.
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
        # A dequeue may have succeeded just as the time was up. Its element is in no queue any more, so a step that has
        # nothing left to compute is given a moment to hand it over.
        function = self._function
        while isinstance(function, SynchronousRun) and function.is_ending(step) and not over.wait(_HANDOVER_SECONDS):
            pass
        if not results:  # what came as the time was up counts: it may be an element that is in no queue any more
            step.stop()
        return results.pop()

    def _arrived(self, values: Sequence[Any]) -> list[Any]:
        """Waits for all copies from accelerators at once, and copies them out of the pinned staging buffers."""
        # Copies to the host were launched without waiting, into pinned buffers, which torch uses again as soon as they
        # are free: so the fetched values are copied out before the step ends.
        for device in {device.name: device for _, device in self._arriving}.values():
            device.synchronize()
        result = list(values)
        for position, _ in self._arriving:
            result[position] = result[position].clone()
        return result

    def _call_next_tier(self, step: Step, *feeds: object) -> Sequence[Any]:
        """Interprets a large program on its first run, and generates its code on the second."""
        program = self.programs[0]
        # Building and generating a large program creates millions of objects that stay alive: the garbage collector
        # would traverse them again and again.
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

    def _run_partitions(self, step: Step, feeds: Sequence[Any]) -> Sequence[Any]:
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
        return (
            self._arrived(values)
            if step.deadline is None
            else self._until_deadline(step, lambda: self._arrived(values))
        )

    def start(
        self, step: Step, feeds: Sequence[Any], done: Callable[[], None], here: bool = False
    ) -> list[Run | TokenRun]:
        """Starts all programs of a step; `done` is called when the last one ends.

        here: whether this thread may run one of them; otherwise the call returns at once.
        """
        if self._join_streams is not None:
            self._join_streams()
        step.share()
        # The others are started on the pool before this thread runs the last program itself, if it may (`here`): that
        # one may block until it receives what they send.
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
