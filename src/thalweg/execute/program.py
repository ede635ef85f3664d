"""Program: a compiled partition, and running it.

A partition without waiting nodes is one function, called in the caller's own thread. Otherwise each segment starts when
the waits in its set are over, on a thread that it gives back when it ends; what waits holds no thread at all.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from thalweg.execute.bind import Bound, bind
from thalweg.execute.codegen import Code, generate
from thalweg.execute.failure import explain, locate
from thalweg.execute.interpret import interpret
from thalweg.execute.segment import Segment, divide
from thalweg.execute.tokens import TokenRun
from thalweg.graph.step_graph import Node, Output, StepGraph

# Threads are made when none is idle, so a kernel that blocks (a Python function, say) cannot starve another step.
_threads = ThreadPoolExecutor(
    max_workers=4096, thread_name_prefix="thalweg", initializer=lambda: torch.set_flush_denormal(True)
)


_LARGE = 20_000  # nodes; writing and compiling that many lines takes longer than a step or two


class Program:
    """A partition ready to run on one device."""

    def __init__(self, step: StepGraph, device: Any) -> None:
        self.device = device
        self.bound: Bound = bind(step, device)  # first: it may change how loops count, and what they give
        self.feeds = step.feeds
        self.fetches = step.fetches
        positions = range(len(step.fetches)) if step.positions is None else step.positions
        self.numbered_fetches = list(zip(positions, step.fetches))
        self.nodes = step.nodes
        self.is_free = step.is_free
        self.waiting: list[Node] = [node for node in step.nodes if node.definition.waits]
        self.segments = self._divide(step)
        self.large = self.is_free or len(self.bound.calls) > _LARGE
        if not self.large:
            _ = self.codes  # now, so that the first step need not wait

    @functools.cached_property
    def codes(self) -> list[Code]:
        """The function of each segment; without waits there is one, feeds in, fetches out."""
        return [generate(segment, self.bound.calls, self.bound.constants) for segment in self.segments]

    def _divide(self, step: StepGraph) -> list[Segment]:
        feeds = [(feed, 0) for feed in step.feeds]
        known = {*feeds, *self.bound.constants}
        if not self.waiting or self.is_free:
            return [Segment(0, step.nodes, frozenset(), list(feeds), list(step.fetches))]
        segments = divide(step)
        for segment in segments:
            used = dict.fromkeys(output for node in segment.nodes for output in _needs(node) if output in feeds)
            used.update(dict.fromkeys(segment.inputs))
            segment.inputs = [output for output in used if output not in self.bound.constants]
            segment.outputs = [output for output in segment.outputs if output not in known]
        return segments

    @functools.cached_property
    def schedule(self) -> _Schedule:
        """What comes after what; a program that is one function does not ask."""
        return _Schedule(self)

    @property
    def text(self) -> str:
        """The program as it runs, for people."""
        if self.is_free:
            return f"# {self.device.name}: by tokens\n" + "\n".join(
                f"# {node.name} = {node.type}" for node in self.nodes
            )
        parts = []
        for segment, code in zip(self.segments, self.codes):
            waits = ", ".join(sorted(node.name for node in segment.waits))
            parts.append(f"# waits for: {waits}\n{code.text}" if waits else code.text)
        return f"# {self.device.name}\n" + "\n".join(parts)

    def interpret(self, segment: Segment, step: Any, inputs: Sequence[Any]) -> Sequence[Any]:
        """Runs a segment without its function: under observation, or because it is large and may never run again."""
        name = self.device.name
        observe = None if step.trace is None else step.trace.observer(name)
        return interpret(segment, self.bound.calls, self.bound.constants, step, inputs, observe, name)

    def explain(self, error: BaseException) -> BaseException:
        """Returns the typed error for an exception that came out of this program's code."""
        found = locate(error, {code.filename: code for code in self.codes}) if "codes" in self.__dict__ else None
        if found is None:
            return error
        code, line, values = found
        node = code.nodes.get(line)
        if node is None:
            return error
        seen = []
        for output in node.inputs:
            if output in self.bound.constants:
                seen.append(self.bound.constants[output])
            else:
                seen.append(values.get(code.names.get(output, "")))
        return explain(error, node, seen, self.device.name)


def _needs(node: Node) -> list[Output]:
    """Returns what must be there before a node runs: its inputs, and what says whether it runs at all."""
    return [*node.inputs, *(predicate for predicate, _ in node.guard)]


class _Schedule:
    """What each segment and waiting node of a program comes after, counted once for all runs."""

    __slots__ = ("followers", "uses", "waits", "works")

    def __init__(self, program: Program) -> None:
        known = {(feed, 0) for feed in program.feeds} | set(program.bound.constants)
        home = {node: segment.index for segment in program.segments for node in segment.nodes}
        before: dict[Any, set[Any]] = {s.index: {*s.waits, *s.after} for s in program.segments}
        for node in program.waiting:
            before[node] = {home.get(p, p) for p in node.predecessors() if (p, 0) not in known or p.controls}
        self.waits = {item: len(earlier) for item, earlier in before.items()}
        self.followers: dict[Any, list[Any]] = {}
        for item, earlier in before.items():
            for e in earlier:
                self.followers.setdefault(e, []).append(item)
        self.works = [any(node in program.bound.calls for node in s.nodes) for s in program.segments]
        self.uses: dict[Output, int] = {}
        taken = [*program.fetches]
        for segment in program.segments:
            taken += segment.inputs
        for node in program.waiting:
            taken += _needs(node)
        for output in taken:
            self.uses[output] = self.uses.get(output, 0) + 1


def new_run(program: Program, step: Any, feeds: Sequence[Any], done: Callable[[], None]) -> Run | TokenRun:
    """Returns a run of a program on the engine that its control flow needs."""
    if program.is_free:
        return TokenRun(program, step, feeds, _threads.submit, done)
    return Run(program, step, feeds, done)


class Run:
    """One run of one program whose nodes wait: counts down to each segment and each waiting node."""

    def __init__(self, program: Program, step: Any, feeds: Sequence[Any], done: Callable[[], None]) -> None:
        self._program = program
        self._step = step
        self._done = done
        self._lock = threading.Lock()
        self.values: dict[Output, Any] = {(feed, 0): value for feed, value in zip(program.feeds, feeds)}
        self.values.update(program.bound.constants)
        self._waits = dict(program.schedule.waits)
        self._uses = dict(program.schedule.uses)
        self._left = len(self._waits)

    def start(self) -> None:
        """Starts what waits for nothing."""
        if not self._left:
            self._done()
        for item in [item for item, count in self._waits.items() if count == 0]:
            self._launch(item)

    def _launch(self, item: Any) -> None:
        if isinstance(item, int) and not self._program.schedule.works[item]:
            self._finished(item)  # nothing but an order to keep
        elif isinstance(item, int):
            _threads.submit(self._run_segment, item)
        else:
            self._start_wait(item)

    def _take(self, output: Output) -> Any:
        value = self.values[output]
        with self._lock:
            self._uses[output] -= 1
            if self._uses[output] == 0:
                del self.values[output]
        return value

    def _run_segment(self, index: int) -> None:
        program = self._program
        segment = program.segments[index]
        if self._step.cancelled:
            return
        try:
            inputs = [self._take(output) for output in segment.inputs]
            with torch.inference_mode():
                if self._step.trace is None:
                    results = program.codes[index].function(self._step, *inputs)
                else:
                    results = program.interpret(segment, self._step, inputs)
        except BaseException as error:
            self._step.fail(self._program.explain(error))
            return
        with self._lock:
            self.values.update(zip(segment.outputs, results))
        self._finished(index)

    def _start_wait(self, node: Node) -> None:
        call = self._program.bound.waiting[node]
        wanted = [(self._take(predicate), side) for predicate, side in node.guard]
        values = [self._take(output) for output in node.inputs]

        def finish(*results: Any) -> None:
            if self._step.cancelled:
                return
            with self._lock:
                for i, value in enumerate(results):
                    if (node, i) in self._uses:
                        self.values[node, i] = value
            self._step.waiting.discard(node.name)
            self._finished(node)

        self._step.waiting.add(node.name)
        if not all(predicate is not None and bool(predicate) is side for predicate, side in wanted):
            finish(*[None] * len(node.dtypes))  # of a branch that is not taken: nobody will send anything
            return
        try:
            call.function(self._step, finish, *values)
        except BaseException as error:
            self._step.fail(explain(error, node, values, self._program.device.name))

    def _finished(self, item: Any) -> None:
        ready = []
        with self._lock:
            self._left -= 1
            over = self._left == 0
            for follower in self._program.schedule.followers.get(item, ()):
                self._waits[follower] -= 1
                if self._waits[follower] == 0:
                    ready.append(follower)
        for follower in ready:
            self._launch(follower)
        if over:
            self._done()
