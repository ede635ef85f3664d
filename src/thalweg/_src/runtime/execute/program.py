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
            node: self._programs_of(node) for node in self.waiting if node.type == "_While"
        }
        self.segments = self._split(step)
        # Code is generated when the program is built, except for a large one: that may take longer than interpreting
        # its first and perhaps only run.
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
            return self._build_functions(Clusters(self.bound, self.device, self._tiers, marked_only=not self._jit))
        return self._build_functions(None)

    def _is_marked(self) -> bool:
        """Returns whether a scope marks nodes for compilation."""
        return any(node.attrs.get("_XlaCompile") for node in self.bound.calls)

    def compile_in_background(self) -> list[Callable[..., Any]]:
        """Returns functions whose clusters are compiled in the background and then compared with the plain functions.

        If a scope marks nodes for compilation, only those are compiled.
        """
        if self._is_marked():
            return self.functions
        for program in (program_of_loop for pair in self.repeated.values() for program_of_loop in pair):
            program.functions = program.compile_in_background()
        return self._build_functions(Clusters(self.bound, self.device, self._tiers, background=True))

    def _build_functions(self, clusters: Clusters | None) -> list[Callable[..., Any]]:
        calls, constants = self.bound.calls, self.bound.constants
        functions: list[Callable[..., Any]] = []
        for index, segment in enumerate(self.segments):
            function = captured(segment, self.bound, self.device, self._tiers, clusters)
            if function is not None:
                self._more_codes += function.codes
                functions.append(function)
            elif clusters is None:
                functions.append(self.codes[index].function)
            else:
                self._more_codes.append(generate(segment, calls, constants, clusters))
                functions.append(self._more_codes[-1].function)
        if clusters is not None:
            self._clusters.append(clusters)
        return [self.device.on_stream(function) for function in functions]

    def _programs_of(self, loop: Node) -> tuple[Program, Program]:
        """Returns the condition and the body of a loop with blocking nodes as programs of their own."""
        condition, body = (
            Program(graph, self.device, self._jit, self._counters, self._tiers)
            for graph in loop.attrs["region"].graphs()
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
        # A blocking node waits for the segments and blocking nodes among its predecessors. Feeds and constants are
        # there from the start; one that has control inputs still waits for these. What takes a value is counted once
        # per use, since the runs drop it with the last: segments by their inputs, blocking nodes, and the fetches.
        available = {Output(feed, 0) for feed in self.feeds} | set(self.bound.constants)
        segment_of = {node: segment.index for segment in self.segments for node in segment.nodes}
        before: dict[Item, set[Item]] = {s.index: {*s.after_nodes, *s.after} for s in self.segments}
        taken = [*self.fetches]
        for segment in self.segments:
            taken += segment.inputs
        for node in self.waiting:
            before[node] = {
                segment_of.get(p, p) for p in node.predecessors() if Output(p, 0) not in available or p.controls
            }
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
        texts = []
        for segment, code in zip(self.segments, self.codes):
            waits = ", ".join(sorted(node.name for node in segment.waits))
            texts.append(f"# waits for: {waits}\n{code.text}" if waits else code.text)
        for loop, programs in self.repeated.items():
            texts += [f"# repeated by {loop.name}:\n{program.text}" for program in programs]
        return f"# {self.device.name}\n" + "\n".join(texts)

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
        # An error passes through generated frames: of a segment, and of a cluster that it calls. The innermost names
        # the node. `codes` is looked up without computing it, since a large program that was only interpreted has none.
        codes = [*self.__dict__.get("codes", ()), *self._more_codes]
        codes += [code for clusters in self._clusters for code in clusters.codes]
        places = locate(error, {code.filename: code for code in codes})
        node = places[-1][0].nodes.get(places[-1][1]) if places else None
        if node is None:
            return error
        live: dict[Output, Any] = {}
        for code, line, values in places:
            iteration = values.get(code.iterations.get(line, ""), iteration)
            live |= {output: values[name] for output, name in code.names.items() if name in values}
        seen = [self.bound.constants.get(output, live.get(output)) for output in node.inputs]
        return explain(error, node, seen, in_iteration(self.device.name, iteration), live)


def _needs(node: Node) -> list[Output]:
    """Returns the values that a node needs: its inputs and the predicates of its guard."""
    return [*node.inputs, *(predicate for predicate, _ in node.guard)]
