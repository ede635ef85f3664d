"""Program: a compiled partition, one function, or one per segment where nodes block in between."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

from thalweg._src.compile.bind import Bound, bind
from thalweg._src.compile.clusters import Clusters
from thalweg._src.compile.codegen import Code, generate
from thalweg._src.compile.failure import explain, in_iteration, locate
from thalweg._src.compile.segment import Segment, divide
from thalweg._src.execute.cuda_graph import captured
from thalweg._src.execute.interpret import interpret
from thalweg._src.execute.readiness import Item, Schedule
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph, waits
from thalweg._src.resources.devices import Device
from thalweg._src.resources.step import Step

_LARGE = 20_000  # nodes; writing and compiling that many lines takes longer than a step or two


class Program:
    """A partition ready to run on one device."""

    def __init__(self, step: StepGraph, device: Device, jit: bool = False, counters: Collection[Node] = ()) -> None:
        self.device = device
        self._jit = jit
        self._more_codes: list[Code] = []
        self._counters = counters
        self.bound: Bound = bind(step, device, counters)
        self.feeds = step.feeds
        self.fetches = step.fetches
        positions = range(len(step.fetches)) if step.positions is None else step.positions
        self.numbered_fetches = list(zip(positions, step.fetches))
        self.nodes = step.nodes
        self.is_unstructured = step.is_unstructured
        self.waiting: list[Node] = [node for node in step.nodes if waits(node)]
        self.repeated: dict[Node, tuple[Program, Program]] = {
            node: self._parts(node) for node in self.waiting if node.type == "_While"
        }
        self.segments = self._divide(step)
        self.large = self.is_unstructured or len(self.bound.calls) > _LARGE
        if not self.large:
            _ = self.functions  # now, so that the first step need not wait

    @functools.cached_property
    def codes(self) -> list[Code]:
        """The function of each segment; without waits there is one, feeds in, fetches out."""
        return [generate(segment, self.bound.calls, self.bound.constants) for segment in self.segments]

    @functools.cached_property
    def functions(self) -> list[Callable[..., Any]]:
        """What runs each segment: its function, or on accelerators its captured CUDA graph."""
        if self._jit or self._is_marked():
            return self._made(Clusters(self.bound, self.device, marked_only=not self._jit))
        return self._made(None)

    def _is_marked(self) -> bool:
        """Returns whether a scope marks nodes for compilation."""
        return any(node.attrs.get("_XlaCompile") for node in self.bound.calls)

    def compile_in_background(self) -> list[Callable[..., Any]]:
        """Returns functions whose clusters are compiled in the background and then tried against the plain ones.

        Where a scope has marked what to compile, nothing else is compiled.
        """
        if self._is_marked():
            return self.functions
        for program in (part for parts in self.repeated.values() for part in parts):
            program.functions = program.compile_in_background()
        return self._made(Clusters(self.bound, self.device, background=True))

    def _made(self, clusters: Clusters | None) -> list[Callable[..., Any]]:
        calls, constants = self.bound.calls, self.bound.constants
        made: list[Callable[..., Any]] = []
        for index, segment in enumerate(self.segments):
            function = captured(segment, self.bound, self.device, clusters)
            if function is not None:
                self._more_codes += function.codes
                made.append(function)
            elif clusters is None:
                made.append(self.codes[index].function)
            else:
                self._more_codes.append(generate(segment, calls, constants, clusters))
                made.append(self._more_codes[-1].function)
        self._more_codes += [cluster.code for cluster in clusters.made] if clusters is not None else []
        return made

    def _parts(self, loop: Node) -> tuple[Program, Program]:
        """Returns the condition and the body of a loop with blocking nodes as programs of their own."""
        condition, body = (
            Program(part, self.device, self._jit, self._counters) for part in loop.attrs["region"].parts()
        )
        return condition, body

    def _divide(self, step: StepGraph) -> list[Segment]:
        feeds = [(feed, 0) for feed in step.feeds]
        fed = set(feeds)
        if not self.waiting or self.is_unstructured:
            return [Segment(0, step.nodes, frozenset(), list(feeds), list(step.fetches))]
        segments = divide(step)
        for segment in segments:
            used = dict.fromkeys(output for node in segment.nodes for output in _needs(node) if output in fed)
            used.update(dict.fromkeys(segment.inputs))
            segment.inputs = [output for output in used if output not in self.bound.constants]
            segment.outputs = [o for o in segment.outputs if o not in fed and o not in self.bound.constants]
        return segments

    @functools.cached_property
    def schedule(self) -> Schedule:
        """What comes after what; a program that is one function does not need it."""
        known = {(feed, 0) for feed in self.feeds} | set(self.bound.constants)
        home = {node: segment.index for segment in self.segments for node in segment.nodes}
        before: dict[Item, set[Item]] = {s.index: {*s.waits, *s.after} for s in self.segments}
        taken = [*self.fetches]
        for segment in self.segments:
            taken += segment.inputs
        for node in self.waiting:
            before[node] = {home.get(p, p) for p in node.predecessors() if (p, 0) not in known or p.controls}
            taken += _needs(node)
        works = [any(node in self.bound.calls for node in segment.nodes) for segment in self.segments]
        return Schedule(before, taken, works)

    @property
    def text(self) -> str:
        """The program as Python text; compiled clusters are shown call by call."""
        if self.is_unstructured:
            return f"# {self.device.name}: token engine\n" + "\n".join(
                f"# {node.name} = {node.type}" for node in self.nodes
            )
        parts = []
        for segment, code in zip(self.segments, self.codes):
            waits = ", ".join(sorted(node.name for node in segment.waits))
            parts.append(f"# waits for: {waits}\n{code.text}" if waits else code.text)
        for loop, programs in self.repeated.items():
            parts += [f"# repeated by {loop.name}:\n{program.text}" for program in programs]
        return f"# {self.device.name}\n" + "\n".join(parts)

    def interpret(
        self, segment: Segment, step: Step, inputs: Sequence[Any], iteration: int | None = None
    ) -> Sequence[Any]:
        """Runs a segment without its function: under observation, or because it is large and may never run again."""
        name = self.device.name
        observer = None if step.trace is None else step.trace.observer(self.device)
        place = in_iteration(name, iteration)
        return interpret(segment, self.bound.calls, self.bound.constants, step, inputs, observer, place)

    def explain(self, error: BaseException, iteration: int | None = None) -> BaseException:
        """Returns the typed error for an exception that came out of this program's code.

        iteration: of the loop that the whole program is repeated by.
        """
        found = locate(error, {code.filename: code for code in [*self.__dict__.get("codes", ()), *self._more_codes]})
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
        inner = values.get(code.iterations.get(line, ""), iteration)
        live = {output: values[name] for output, name in code.names.items() if name in values}
        return explain(error, node, seen, in_iteration(self.device.name, inner), live)


def _needs(node: Node) -> list[Output]:
    """Returns what must be there before a node runs: its inputs, and what says whether it runs at all."""
    return [*node.inputs, *(predicate for predicate, _ in node.guard)]
