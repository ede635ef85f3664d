"""Fusion clusters: nodes of a program that Inductor compiles into one call.

A cluster contains nodes that torch can trace, including reads and updates of variables, with no other node between
them; the program has one line for all of them, and intermediate values are never written to memory. A cluster is
compiled for the layouts that it is called with, a few at most. Until its library is available, and if there is no
compiler, it makes the individual calls.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import torch

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import is_fully_defined
from thalweg._src.compiler.partition.host_memory import arguments
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.runtime.compile.bind import Bound
from thalweg._src.runtime.compile.codegen import Code, generate
from thalweg._src.runtime.compile.inductor import BACKGROUND, FOREGROUND, Library, find
from thalweg._src.runtime.compile.lowering import Layout, describe, is_importable, user_modules
from thalweg._src.runtime.compile.segment import Segment
from thalweg._src.runtime.compile.tiers import Tiers
from thalweg._src.runtime.kernels.registry import STEP, Call, Input
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.variables import VariableResource, all_writable, locked

_MIN_NODES = 3  # nodes, not counting trivial ones, that are worth a cluster
_MAX_EMBEDDED = 64  # elements of a constant that may be embedded in a library
_ALIGNED = 16  # bytes: the alignment that compiled kernels expect
Run = Callable[[Any, tuple[Any, ...]], Any]


class Clusters:
    """Replaces nodes by clusters during code generation: `clusters(nodes, used_later)`.

    background: compile in the background, and keep a compiled function only if it is faster
    marked_only: compile only nodes that a scope marks for compilation
    """

    def __init__(
        self, bound: Bound, device: Device, tiers: Tiers, background: bool = False, marked_only: bool = False
    ) -> None:
        self._marked_only = marked_only
        self.bound = bound
        self.device = device
        self.tiers = tiers
        self.background = background
        self.codes: list[Code] = []  # functions of clusters that make the individual calls
        self._arranged: dict[tuple[Node, ...], list[Node]] = {}

    def __call__(self, nodes: Sequence[Node], used_later: Iterable[Output]) -> list[Node]:
        """Returns the nodes of a function with clusters in place of their members.

        used_later: the outputs that are used after these nodes
        """
        key = tuple(nodes)
        if key not in self._arranged:
            self._arranged[key] = self._arrange(nodes, used_later)
        return self._arranged[key]

    def _arrange(self, nodes: Sequence[Node], used_later: Iterable[Output]) -> list[Node]:
        # The fusible nodes of one level form a cluster. The level of a node is the greatest number of times that a path
        # to it goes from a fusible node to one that is not. So a path between fusible nodes of one level has no other
        # node on it, and making them one node creates no cycle. Level by level, with the other nodes of a level before
        # its cluster, is a topological order: another node depends only on fusible nodes of lower levels.
        levels, fused = self._levels(nodes)
        alone: dict[int, list[Node]] = {}
        together: dict[int, list[Node]] = {}
        for node in nodes:
            (together if node in fused else alone).setdefault(levels[node], []).append(node)
        home = {node: levels[node] for node in fused}  # nodes of one level form a cluster
        outside = {o for node in nodes for o in node.inputs if home.get(o.node) != home.get(node, -1)}
        outside |= {*used_later, *(predicate for node in nodes for predicate, _ in node.guard)}
        result: list[Node] = []
        for level in sorted({*alone, *together}):
            result += alone.get(level, [])
            members = together.get(level, [])
            # A few nodes gain less from fusion than the call of a library costs. Variables that are read outside the
            # cluster too are read by a line of their own before it: the value must be that of before its updates.
            if sum(not node.facts.is_alias for node in members) < _MIN_NODES:
                result += members
                continue
            result += [node for node in members if node.type == "ReadVariableOp" and Output(node, 0) in outside]
            result.append(self._make(members, outside))
        return result

    def _levels(self, nodes: Sequence[Node]) -> tuple[dict[Node, int], set[Node]]:
        """Returns how often paths to each node leave the fusible nodes; no other node is between nodes of one level."""
        level: dict[Node, int] = {}
        fused: set[Node] = set()
        for node in nodes:
            if self._can_be_fused(node):
                fused.add(node)
            before = [p for p in node.predecessors() if p in level]
            level[node] = max((level[p] + (p in fused and node not in fused) for p in before), default=0)
        return level, fused

    def _can_be_fused(self, node: Node) -> bool:
        call = self.bound.calls.get(node)
        is_marked = node.attrs.get("_XlaCompile", not self._marked_only)
        if call is None or node.guard or "_host" in node.attrs or not is_marked:
            return False
        # The conditions in order: it has a call here, always runs, and is on the device; it computes with tensors;
        # torch can trace it, and data alone decides when it reads; its variables have one layout; the compiler's
        # process can import its op; its types are those that Inductor generates code for; and its host arguments are
        # constants, since a library is compiled for shapes and axes that never change.
        if getattr(call.function, "__module__", None) in (
            "_operator",
            "builtins",
            "thalweg._src.runtime.compile.loop_counters",
        ):
            return False  # computes with Python numbers
        resources = [o for i, o in enumerate(node.inputs) if node.input_dtype(i) is dtypes.resource]
        if not node.facts.traceable or (node.facts.reads and node.controls):
            return False
        if resources and not ((node.facts.reads or node.facts.writes) and all(map(self._has_fixed_layout, resources))):
            return False
        if not self._is_known_to_compiler(node):
            return False
        types = {*node.dtypes, *(node.input_dtype(i) for i in range(len(node.inputs)))} - {dtypes.resource}
        is_numeric = all(dtype.is_floating or dtype.is_bool or dtype.is_integer for dtype in types)
        return is_numeric and all(node.constant(i) is not None for i in _host_arguments(node))

    def _is_known_to_compiler(self, node: Node) -> bool:
        """Returns whether the compiler process has the op of a node: a user's op must be in an importable module."""
        in_process = self.device.accelerator is not None and not self.background
        return in_process or all(map(is_importable, user_modules(node, self.device.type)))

    def _has_fixed_layout(self, handle: Output) -> bool:
        """Returns whether a variable is known and all its buffers have the same layout, as a library requires."""
        variable = self.bound.constants.get(handle)
        if not isinstance(variable, VariableResource):
            return False
        return is_fully_defined(variable.shape) and variable.device == self.device.torch

    def _make(self, members: list[Node], outside: set[Output]) -> Node:
        """Returns the node of a cluster, bound to its function."""
        inside = set(members)
        taken = dict.fromkeys(o for node in members for o in _values(node, self.bound) if o.node not in inside)
        inputs = list(taken)
        outputs = [Output(node, i) for node in members for i in range(len(node.dtypes)) if Output(node, i) in outside]
        outputs = [output for output in outputs if output.node.type != "ReadVariableOp"]
        cluster = Cluster(members, inputs, outputs, self)
        fused = members[-1].like(
            "_Cluster",
            inputs,
            {
                "Tin": tuple(p.dtypes[i] for p, i in inputs),
                "Tout": tuple(p.dtypes[i] for p, i in outputs),
                "outputs": outputs,
                "members": members,
            },
            name=f"{members[-1].name}/_cluster_of_{len(members)}",
            dtypes=[p.dtypes[i] for p, i in outputs],
            shapes=[p.shapes[i] for p, i in outputs],
            controls=[control for node in members for control in node.controls if control not in inside],
        )
        self.bound.calls[fused] = Call(cluster, (STEP, *(Input(i) for i in range(len(inputs)))))
        return fused


def _host_arguments(node: Node) -> list[int]:
    """Returns the inputs that a kernel reads on the host."""
    if not node.definition.host:
        return []
    named = arguments(node.definition.inputs, node.attrs, len(node.inputs))
    return [i for i, argument in enumerate(named) if argument.name in node.definition.host]


def _values(node: Node, bound: Bound) -> Iterable[Output]:
    """Yields the inputs of a cluster, without its variables and embedded constants."""
    host = _host_arguments(node)
    for index, output in enumerate(node.inputs):
        if index in host or isinstance(bound.constants.get(output), VariableResource):
            continue
        if output.node.type != "Const" or output.node.attrs["value"].size > _MAX_EMBEDDED:
            yield output


class Cluster:
    """The function of a cluster: compiled for the layouts of its inputs, uncompiled until then."""

    __name__ = "cluster"

    def __init__(self, members: list[Node], inputs: list[Output], outputs: list[Output], clusters: Clusters) -> None:
        self._members, self._inputs, self._outputs = members, inputs, outputs
        self._clusters = clusters
        self._device = clusters.device
        bound = clusters.bound
        self._plain = self._calls_of(members, outputs)
        written: dict[Node, bool] = {}
        for node in members:
            for handle, _ in node.inputs:
                if isinstance(bound.constants.get(Output(handle, 0)), VariableResource):
                    written[handle] = written.get(handle, False) or node.facts.writes
        self._handles, self._written = list(written), list(written.values())
        self._variables: list[VariableResource] = [bound.constants[Output(handle, 0)] for handle in self._handles]
        self._changed = [variable for variable, changes in zip(self._variables, self._written) if changes]
        self._guard = locked(self._changed)
        self._runs: dict[Any, Run] = {}

    def __call__(self, step: Step, *values: torch.Tensor) -> Any:
        # On the path of every step: one tuple and one dictionary look-up. Types are fixed by the graph, so sizes and
        # strides identify a layout. `_runs` is only ever extended or overwritten, so that threads need no lock.
        layout = tuple([(value.shape, value.stride()) for value in values])
        run = self._runs.get(layout)
        if run is None:
            run = self._new(layout, values)
        return run(step, values)

    def plain(self, step: Step, values: tuple[Any, ...]) -> Any:
        """Makes the individual calls."""
        results = self._plain.function(step, *values)
        return results[0] if len(self._outputs) == 1 else results

    def _calls_of(self, nodes: list[Node], outputs: list[Output]) -> Code:
        """Returns a function that makes the individual calls of some nodes."""
        bound = self._clusters.bound
        segment = Segment(0, nodes, self._inputs, outputs)
        code = generate(segment, bound.calls, bound.constants)
        self._clusters.codes.append(code)
        return code

    @functools.cached_property
    def _without_updates(self) -> Code:
        """The individual calls of the nodes that neither change a variable nor come after such a change."""
        changed: set[Node] = set()
        for node in self._members:
            if node.facts.writes or not changed.isdisjoint(node.predecessors()):
                changed.add(node)
        return self._calls_of([node for node in self._members if node not in changed], [])

    def _new(self, layout: Hashable, values: Sequence[Any]) -> Run:
        """Handles a new layout: requests its library, and waits for it unless it is compiled in the background."""
        # Before the variables have values there is nothing to compile for, and the individual calls report it. Pinning
        # comes after the decision to compile, since it forbids the weight layout to be changed from then on.
        if not all(isinstance(variable.value, torch.Tensor) for variable in self._variables):
            return self.plain
        if not self._clusters.tiers.layout_seen(self, layout):
            return self._runs.get(layout, self.plain)
        self._runs[layout] = self.plain
        buffers = [variable.pin_layout() for variable in self._variables]
        if any(buffer is None for buffer in buffers):  # destroyed meanwhile
            return self.plain
        layouts: list[Layout] = [(tuple(v.shape), v.stride(), v.dtype) for v in [*values, *buffers]]
        request = describe(
            self._members, self._inputs, self._outputs, self._handles, self._written, layouts, self._device
        )
        if self._clusters.background:
            BACKGROUND.ask(request, lambda library: self._arrived(layout, library))
            return self.plain
        library = find(request) or FOREGROUND.wait_for(request)
        if library is not None:
            self._runs[layout] = self._compiled(library)
        return self._runs[layout]

    def _arrived(self, layout: Hashable, library: Library | None) -> None:
        if library is not None:
            self._clusters.tiers.library_arrived(self, layout)
            self._runs[layout] = self._trial(layout, self._compiled(library))

    def _trial(self, layout: Hashable, compiled: Run) -> Run:
        """Returns a function that runs the plain or the compiled one, times it, and is replaced by the faster one."""
        tiers = self._clusters.tiers

        # Inductor's code is usually faster, but not always: torch's own kernels may be tuned better. So both functions
        # alternate in real steps, whose results are the same, until the medians of their times decide. The device is
        # synchronized around a trial, since a launch returns before its kernel has run.
        def run(step: Step, values: tuple[Any, ...]) -> Any:
            call, is_compiled = tiers.trial_called(self, layout)
            self.synchronize()
            start = time.perf_counter()
            results = (compiled if is_compiled else self.plain)(step, values)
            self.synchronize()
            wins = tiers.trial_timed(self, layout, call, time.perf_counter() - start)
            if wins is not None:
                self._runs[layout] = compiled if wins else self.plain
            return results

        return run

    def synchronize(self) -> None:
        if self._device.accelerator is not None:
            self._device.accelerator.synchronize(self._device.torch)

    def _compiled(self, library: Library) -> Run:
        """Returns a function that calls a library with values and variables' buffers, locked if it changes them."""
        single, variables, written = len(self._outputs) == 1, self._variables, self._written
        aligned = self._device.accelerator is None

        # Locks are held from the look at the buffers to the end of the call: a buffer that another step replaced
        # meanwhile would take the update with it. Buffers that are only read need none, since the reference that is
        # taken here makes a concurrent update move to a copy.
        def call(values: tuple[Any, ...]) -> Sequence[Any]:
            arguments = list(values)
            if not variables:
                return library(arguments)
            read = [None if changes else variable.read() for variable, changes in zip(variables, written)]
            with self._guard:
                writable = iter(all_writable(self._changed))
                arguments += [next(writable) if buffer is None else buffer for buffer in read]
                return library(arguments)

        def run(step: Step, values: tuple[Any, ...]) -> Any:
            if not aligned and any(value.data_ptr() % _ALIGNED for value in values):
                return self.plain(step, values)
            try:
                results = call(values)
            # The error of a library names no node. The individual calls repeat the work and report the one that failed.
            # With updates only those calls are repeated that come before all of them, since a second update would
            # count twice; if they succeed, the library's own error is raised.
            except Exception:
                if not aligned:  # what runs may be captured
                    raise
                if not self._changed:
                    return self.plain(step, values)
                self._without_updates.function(step, *values)  # raises the error of the node that failed
                raise
            return results[0] if single else results

        return run
