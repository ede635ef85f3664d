"""Program: a compiled partition, as one function, or as one per segment if it has blocking nodes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph, waits
from thalweg._src.runtime.compile.bind import Bound, bind
from thalweg._src.runtime.compile.clusters import Clusters
from thalweg._src.runtime.compile.codegen import Code, generate
from thalweg._src.runtime.compile.failure import explain, in_iteration, locate
from thalweg._src.runtime.compile.segment import Segment, split_into_segments
from thalweg._src.runtime.compile.tiers import Tiers
from thalweg._src.runtime.execute.cuda_graph import captured
from thalweg._src.runtime.execute.interpret import interpret
from thalweg._src.runtime.execute.readiness import Item, Schedule
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step

_LARGE = 20_000  # nodes; generating code for as many takes longer than a step or two


class Program:
    """A partition ready to run on one device."""

    def __init__(
        self,
        step: StepGraph,
        device: Device,
        jit: bool = False,
        counters: Collection[Node] = (),
        tiers: Tiers | None = None,
    ) -> None:
        self.device = device
        self._tiers = tiers or Tiers()
        self._jit = jit
        self._more_codes: list[Code] = []
        self._clusters: list[Clusters] = []
        self._counters = counters
        self.bound: Bound = device.on_stream(bind)(step, device, counters)
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
        self.segments = self._split(step)
        self.large = self.is_unstructured or len(self.bound.calls) > _LARGE
        if not self.large:
            _ = self.functions  # generated now, not in the first step

    @functools.cached_property
    def codes(self) -> list[Code]:
        """The generated code of each segment; without blocking nodes there is one segment, from feeds to fetches."""
        return [generate(segment, self.bound.calls, self.bound.constants) for segment in self.segments]

    @functools.cached_property
    def functions(self) -> list[Callable[..., Any]]:
        """The function that runs each segment; on accelerators it may capture and replay a CUDA graph."""
        if self._jit or self._is_marked():
            return self._made(Clusters(self.bound, self.device, self._tiers, marked_only=not self._jit))
        return self._made(None)

    def _is_marked(self) -> bool:
        """Returns whether a scope marks nodes for compilation."""
        return any(node.attrs.get("_XlaCompile") for node in self.bound.calls)

    def compile_in_background(self) -> list[Callable[..., Any]]:
        """Returns functions whose clusters are compiled in the background and then compared with the plain functions.

        If a scope marks nodes for compilation, only those are compiled.
        """
        if self._is_marked():
            return self.functions
        for program in (part for parts in self.repeated.values() for part in parts):
            program.functions = program.compile_in_background()
        return self._made(Clusters(self.bound, self.device, self._tiers, background=True))

    def _made(self, clusters: Clusters | None) -> list[Callable[..., Any]]:
        calls, constants = self.bound.calls, self.bound.constants
        made: list[Callable[..., Any]] = []
        for index, segment in enumerate(self.segments):
            function = captured(segment, self.bound, self.device, self._tiers, clusters)
            if function is not None:
                self._more_codes += function.codes
                made.append(function)
            elif clusters is None:
                made.append(self.codes[index].function)
            else:
                self._more_codes.append(generate(segment, calls, constants, clusters))
                made.append(self._more_codes[-1].function)
        if clusters is not None:
            self._clusters.append(clusters)
        return [self.device.on_stream(function) for function in made]

    def _parts(self, loop: Node) -> tuple[Program, Program]:
        """Returns the condition and the body of a loop with blocking nodes as programs of their own."""
        condition, body = (
            Program(part, self.device, self._jit, self._counters, self._tiers) for part in loop.attrs["region"].parts()
        )
        return condition, body

    def _split(self, step: StepGraph) -> list[Segment]:
        feeds = [Output(feed, 0) for feed in step.feeds]
        fed = set(feeds)
        if not self.waiting or self.is_unstructured:
            return [Segment(0, step.nodes, list(feeds), list(step.fetches))]
        segments = split_into_segments(step)
        for segment in segments:
            used = dict.fromkeys(output for node in segment.nodes for output in _needs(node) if output in fed)
            used.update(dict.fromkeys(segment.inputs))
            segment.inputs = [output for output in used if output not in self.bound.constants]
            segment.outputs = [o for o in segment.outputs if o not in fed and o not in self.bound.constants]
        return segments

    @functools.cached_property
    def schedule(self) -> Schedule:
        """The dependencies between segments and blocking nodes; not needed by a program of one function."""
        known = {Output(feed, 0) for feed in self.feeds} | set(self.bound.constants)
        segment_of = {node: segment.index for segment in self.segments for node in segment.nodes}
        before: dict[Item, set[Item]] = {s.index: {*s.after_nodes, *s.after} for s in self.segments}
        taken = [*self.fetches]
        for segment in self.segments:
            taken += segment.inputs
        for node in self.waiting:
            before[node] = {segment_of.get(p, p) for p in node.predecessors() if (p, 0) not in known or p.controls}
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
        """Runs a segment without its generated function: if it is traced, or large and may never run again."""
        place = in_iteration(self.device.name, iteration)
        with self.device.current():
            observer = None if step.trace is None else step.trace.observer(self.device)
            return interpret(segment, self.bound.calls, self.bound.constants, step, inputs, observer, place)

    def explain(self, error: BaseException, iteration: int | None = None) -> BaseException:
        """Returns the typed error for an exception raised by this program's code.

        iteration: of the loop whose condition or body this program is
        """
        codes = [*self.__dict__.get("codes", ()), *self._more_codes]
        codes += [code for clusters in self._clusters for code in clusters.codes]
        found = locate(error, {code.filename: code for code in codes})
        node = found[-1][0].nodes.get(found[-1][1]) if found else None
        if node is None:
            return error
        live: dict[Output, Any] = {}
        for code, line, values in found:
            iteration = values.get(code.iterations.get(line, ""), iteration)
            live |= {output: values[name] for output, name in code.names.items() if name in values}
        seen = [self.bound.constants.get(output, live.get(output)) for output in node.inputs]
        return explain(error, node, seen, in_iteration(self.device.name, iteration), live)


def _needs(node: Node) -> list[Output]:
    """Returns the values that a node needs: its inputs and the predicates of its guard."""
    return [*node.inputs, *(predicate for predicate, _ in node.guard)]
