"""Inlining of functions: replaces calls, and conditionals and loops whose parts are functions, by the nodes of bodies.

If and Case become Switch and Merge, While becomes Enter, Merge, Switch, NextIteration and Exit: what the constructors
of TensorFlow 1 add to a graph, so that all that follows handles one kind of control flow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.devices import merge_devices
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.function import CASES, FUNCTIONAL, IFS, LOOPS, FunctionOp, GraphFunction, unchanged_values
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph, ancestors
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.order_hints import ORDER_HINTS
from thalweg._src.graph.source_line import made_at
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.walk import preorder

_MAX_DEPTH = 64  # functions that call each other
_MAX_NODES = 1 << 20  # a library of a few bytes can ask for any number
_GROUP = "loc:@"
_GATES = frozenset(("Switch", "Enter"))  # whose outputs are alive only on one side, or in a frame


def inline_functions(step: StepGraph) -> None:
    """Replaces all calls of functions by the nodes of their bodies, in place."""
    if any(map(_is_call, step.nodes)):
        _Inlining(step).run()


def _is_call(node: Node | Operation) -> bool:
    return node.type in FUNCTIONAL or isinstance(node.definition, FunctionOp)


class _Scope:
    """What nodes without inputs wait for, so that they run when, and as often as, the body around them runs.

    pivot: nodes that run if a branch is taken, or in each iteration of a loop; none outside of them
    has_control_flow: the graph contains Switch or Enter nodes
    """

    __slots__ = ("has_control_flow", "pivot")

    def __init__(self, pivot: Sequence[Node], has_control_flow: bool = False) -> None:
        self.pivot = list(pivot)
        self.has_control_flow = has_control_flow


_Expansion = tuple[list[Output], list[Node]]  # the results of a call, and the nodes that run whenever it would
_Branch = Callable[[Sequence[Output], _Scope], _Expansion]  # a branch, from its inputs and its scope


class _Inlining:
    """One rewrite: the nodes of the result, and what the calls became."""

    def __init__(self, step: StepGraph) -> None:
        self._step = step
        self._added: list[Node] = []
        self._results: dict[Output, Output] = {}  # the outputs of calls, and what replaces them
        self._ends: dict[Node, list[Node]] = {}  # the calls, and what to wait for instead of them
        self._count = 0
        self._nodes = 0
        self._measures: dict[GraphFunction, tuple[int, int]] = {}

    def run(self) -> None:
        step = self._step
        # Calls are expanded in program order, and what they contain within them, so that the order in which nodes are
        # added is the program order of the result; it is numbered anew at the end. References to calls are resolved
        # only then: a call may return what another one returns.
        has_control_flow = any(node.facts.control_flow for node in step.nodes)
        effects: list[Node] = []
        for node in sorted(step.nodes, key=attrgetter("order")):
            if _is_call(node):
                self._check_size(node)
                effects += self._expand(node, _Scope((), has_control_flow))
            else:
                self._added.append(node)
        for node in self._added:
            node.inputs = [self._result(output) for output in node.inputs]
            if node.controls:
                node.controls = self._awaited(node.controls)
        feeds = set(step.feeds)
        for order, node in enumerate(node for node in self._added if node not in feeds):
            node.order = order
        step.fetches = [self._result(output) for output in step.fetches]
        step.targets = self._awaited([*step.targets, *effects])
        needed = ancestors(step.roots()) | feeds
        step.nodes = [node for node in self._added if node in needed]

    def _check_size(self, call: Node) -> None:
        """Raises an error if the functions of a call cannot be inlined, before any of them is."""
        for function in _functions_of(call):
            self._nodes += self._measure(call, function, ())[0]
        if self._nodes > _MAX_NODES:
            raise errors.ResourceExhaustedError(
                call, None, f"{call.type} {call.name!r}: the functions up to this one have more than {_MAX_NODES} nodes"
            )

    def _measure(self, call: Node, function: GraphFunction, around: tuple[GraphFunction, ...]) -> tuple[int, int]:
        """Returns the number of nodes of a function with all that it calls, and the number of levels of calls."""
        if function in around:
            cycle = [*around[around.index(function) :], function]
            raise _error(call, f"functions call themselves: {' -> '.join(callee.name for callee in cycle[:5])}")
        # Sizes are computed before anything is inlined, once per function: a chain of functions that call each other
        # twice doubles with each level, so that counting nodes as they are added would come too late.
        if function not in self._measures:
            callees = [callee for operation in function.operations for callee in _functions_of(operation)]
            if len(around) >= _MAX_DEPTH and callees:
                raise _error(call, f"functions call each other more than {_MAX_DEPTH} levels deep")
            measures = [self._measure(call, callee, (*around, function)) for callee in callees]
            nodes = len(function.operations) + sum(size for size, _ in measures)
            self._measures[function] = nodes, 1 + max((levels for _, levels in measures), default=0)
        if len(around) + self._measures[function][1] > _MAX_DEPTH:
            raise _error(call, f"functions call each other more than {_MAX_DEPTH} levels deep")
        return self._measures[function]

    def _result(self, output: Output) -> Output:
        while output in self._results:
            output = self._results[output]
        return output

    def _awaited(self, nodes: Sequence[Node]) -> list[Node]:
        """Returns nodes with each call replaced by what stands for its end."""
        return [node for node in preorder(nodes, lambda n: self._ends.get(n, ())) if node not in self._ends]

    # -- calls --------------------------------------------------------------------------------------------------------

    def _expand(self, call: Node, scope: _Scope) -> list[Node]:
        """Adds the nodes that replace a call; returns those that run whenever the call would."""
        if call.type in IFS:
            outputs, effects = self._if(call, scope)
        elif call.type in CASES:
            outputs, effects = self._case(call, scope)
        elif call.type in LOOPS:
            outputs, effects = self._loop(call, scope)
        else:
            function = _function_of(call)
            outputs, effects = self._body(call, function, call.name, call.inputs, self._entered(call, scope))
        if [_dtype(output) for output in outputs] != [dtype.base_dtype for dtype in call.dtypes]:
            raise _mismatch(call, "results", [_dtype(output) for output in outputs], call.dtypes)
        if scope.has_control_flow and effects:  # in a loop, for instance, where they are no targets
            outputs = [
                Output(self._add(call, "Identity", [output], {"T": _dtype(output)}, "result", controls=effects), 0)
                for output in outputs
            ]
        self._results.update((Output(call, index), output) for index, output in enumerate(outputs))
        producers = [node for node, _ in outputs if node.type not in _GATES]
        self._ends[call] = list(dict.fromkeys([*producers, *effects, *call.controls, *scope.pivot]))
        return [] if scope.has_control_flow else effects

    def _entered(self, call: Node, scope: _Scope) -> _Scope:
        """Returns the scope of a body: in a graph with control flow the inputs decide whether it runs."""
        if not scope.has_control_flow:
            return scope
        # A dead argument makes the whole call dead. A node of the body that takes no argument must be dead then, too:
        # it waits for all of them.
        tied = [self._add(call, "Identity", [output], {"T": _dtype(output)}, "argument") for output in call.inputs]
        return _Scope([*scope.pivot, *tied], True)

    def _body(
        self, call: Node, function: GraphFunction, prefix: str, inputs: Sequence[Output], scope: _Scope
    ) -> _Expansion:
        """Adds the nodes of a body; returns its results, and the nodes that run with every call."""
        types = [_dtype(output) for output in inputs]
        if types != [dtype.base_dtype for dtype in function.input_types]:
            raise _mismatch(call, f"arguments of {function.name!r}", types, function.input_types)
        arguments = dict(zip(function.inputs, inputs))
        copies = {operation: self._copy(call, operation, prefix, function) for operation in function.operations}

        def output(tensor: Tensor) -> Output:
            argument = arguments.get(tensor)
            return Output(copies[tensor.op], tensor.value_index) if argument is None else argument

        has_control_flow = any(operation.definition.facts.control_flow for operation in copies)
        # Nodes without inputs would run at the start of the step, whether the branch is taken or not and before what
        # the call waits for; those with effects must not run before the call either. All others run when their inputs
        # are there. What targets of the function do happens with every call, used or not, so they become effects of the
        # caller.
        inner = _Scope(scope.pivot, has_control_flow)
        entry = self._entry(call, scope)
        effects: list[Node] = []
        targets = set(function.targets)
        for operation, node in copies.items():
            node.inputs = [output(tensor) for tensor in operation.inputs]
            node.controls = [copies[control] for control in operation.control_inputs if control in copies]
            if node.type == "Const":
                node.controls += scope.pivot
            elif operation.definition.stateful or not (node.inputs or node.controls):
                node.controls += entry
            if not _is_call(node):
                self._added.append(node)
                effects += [node] if operation in targets else []
                continue
            acting = self._expand(node, inner)
            effects += self._ends[node] if has_control_flow and operation in targets else acting
        return [output(tensor) for tensor in function.outputs], list(dict.fromkeys(effects))

    def _entry(self, call: Node, scope: _Scope) -> list[Node]:
        """Returns what the nodes of a body without inputs, and those with effects, wait for: at most one node."""
        controls = _with_controls(call, scope)
        if len(controls) < 2:
            return controls
        return [self._add(call, "NoOp", [], {}, "entry", controls=controls)]

    def _copy(self, call: Node, operation: Operation, prefix: str, function: GraphFunction) -> Node:
        attrs = operation.attrs
        if "frame_name" in attrs:
            attrs = {**attrs, "frame_name": f"{prefix}/{attrs['frame_name']}"}
        for key, start in (("_class", _GROUP), (ORDER_HINTS, "")):
            if key in attrs:
                nodes_by_name = function.graph._by_name
                names = [text.removeprefix(start) for text in attrs[key]]
                attrs = {**attrs, key: tuple(f"{start}{prefix}/{name}" for name in names if name in nodes_by_name)}
        # What a body does with a variable of its caller happens where the variable is, whatever the body requests.
        is_beside = any(tensor.dtype is dtypes.resource and tensor in function.inputs for tensor in operation.inputs)
        return Node(
            f"{prefix}/{operation.name}",
            operation.definition,
            [],
            attrs,
            [tensor.dtype for tensor in operation.outputs],
            [tensor.dims for tensor in operation.outputs],
            device="" if is_beside else merge_devices(call.device, operation.device),
            stack=operation.stack or call.stack,
        )

    # -- conditionals -------------------------------------------------------------------------------------------------

    def _if(self, call: Node, scope: _Scope) -> _Expansion:
        predicate = self._as_bool(call, call.inputs[0], _with_controls(call, scope))
        branches = [self._branch_of(call, call.attrs[f"{name}_branch"], name) for name in ("else", "then")]
        return self._branch(call, predicate, branches, call.inputs[1:], scope)

    def _branch_of(self, call: Node, function: GraphFunction, name: str, skipped: int = 0) -> _Branch:
        """Returns a branch that calls a function; skipped: the number of inputs that are not for it."""
        inside = call.like("NoOp", [], {}, controls=[])
        return lambda inputs, scope: self._body(inside, function, f"{call.name}/{name}", inputs[skipped:], scope)

    def _branch(
        self, call: Node, predicate: Output, branches: Sequence[_Branch], inputs: Sequence[Output], scope: _Scope
    ) -> _Expansion:
        """Adds the branches for False and for True, and merges their results."""
        # All inputs pass through Switch nodes, and the predicate as well: its two sides are the pivots, which run
        # exactly when their branch is taken. If a branch has effects, a Merge of the two ends is what others wait for,
        # since either end alone would be dead half of the time.
        switches = [
            self._add(call, "Switch", [output, predicate], {"T": _dtype(output)}, "switch", [_dtype(output)] * 2)
            for output in (*inputs, predicate)
        ]
        results: list[list[Output]] = []
        done: list[Output] = []
        acts = False
        for side, branch in enumerate(branches):
            taken: list[Output] = [Output(switch, side) for switch in switches]
            pivot = self._add(call, "Identity", [taken.pop()], {"T": dtypes.bool}, "pivot")
            outputs, effects = branch(taken, _Scope([pivot]))
            results.append(outputs)
            acts = acts or bool(effects)
            done.append(
                Output(self._add(call, "Identity", [Output(pivot, 0)], {"T": dtypes.bool}, "done", controls=effects), 0)
            )
        types = [[_dtype(output) for output in outputs] for outputs in results]
        if types[0] != types[1]:
            raise _mismatch(call, "results of a branch", *types)
        merged = [self._merge(call, pair, shape) for pair, shape in zip(zip(*results), call.shapes)]
        return merged, [self._merge(call, done, ()).node] if acts else []

    def _merge(self, call: Node, pair: Sequence[Output], shape: Shape) -> Output:
        dtype = _dtype(pair[0])
        attrs = {"T": dtype, "N": 2}
        return Output(self._add(call, "Merge", list(pair), attrs, "merge", [dtype, dtypes.int32], [shape, ()]), 0)

    def _case(self, call: Node, scope: _Scope) -> _Expansion:
        """Adds the branches of a Case as a binary search for the index; an invalid one selects the last branch."""
        # A conditional has two branches, so that a Case becomes a tree of depth log2(n) rather than a chain: at most
        # that many comparisons run per call.
        branches = call.attrs["branches"]
        attrs = {"T": dtypes.int32}
        index = self._add(call, "Identity", [call.inputs[0]], attrs, "index", controls=_with_controls(call, scope))
        if len(branches) == 1:
            inner = _Scope([*scope.pivot, index])
            return self._branch_of(call, branches[0], "branch_0")(call.inputs[1:], inner)
        zero, last = (self._constant(call, np.int32(value), Output(index, 0)) for value in (0, len(branches) - 1))
        is_negative = self._add(call, "Less", [Output(index, 0), zero], attrs, "is_negative", [dtypes.bool])
        valid = self._add(call, "Select", [Output(is_negative, 0), last, Output(index, 0)], attrs, "valid")
        return self._search(call, branches, 0)([Output(valid, 0), *call.inputs[1:]], scope)

    def _search(self, call: Node, branches: Sequence[GraphFunction], first: int) -> _Branch:
        """Returns a branch that selects among several functions by the index, its first input.

        first: the index of the first of them
        """
        if len(branches) == 1:
            return self._branch_of(call, branches[0], f"branch_{first}", skipped=1)
        half = len(branches) // 2
        upper, lower = self._search(call, branches[half:], first + half), self._search(call, branches[:half], first)

        def select(inputs: Sequence[Output], scope: _Scope) -> _Expansion:
            middle = self._constant(call, np.int32(first + half), inputs[0])
            attrs = {"T": dtypes.int32}
            is_below = self._add(call, "Less", [inputs[0], middle], attrs, "is_below", [dtypes.bool])
            return self._branch(call, Output(is_below, 0), [upper, lower], inputs, scope)

        return select

    def _as_bool(self, call: Node, value: Output, controls: list[Node]) -> Output:
        """Returns a condition of any type as a bool, after some nodes."""
        dtype = _dtype(value)
        if dtype is not dtypes.bool:
            if not (dtype.is_integer or dtype.is_floating):
                raise _error(call, f"a condition of type {dtype.name} is not supported")
            zero = self._constant(call, np.zeros((), dtype.as_numpy_dtype), value)
            attrs = {"T": dtype, "incompatible_shape_error": True}
            value = Output(self._add(call, "NotEqual", [value, zero], attrs, "condition", [dtypes.bool]), 0)
        if controls:  # an Identity with control inputs makes the whole conditional wait
            value = Output(self._add(call, "Identity", [value], {"T": dtypes.bool}, "condition", controls=controls), 0)
        return value

    # -- loops --------------------------------------------------------------------------------------------------------

    def _loop(self, call: Node, scope: _Scope) -> _Expansion:
        """Adds a loop; a value that the body returns as it is does not become a variable of it."""
        condition, body = call.attrs["cond"], call.attrs["body"]
        if len(body.input_types) != len(call.inputs) or len(body.output_types) != len(call.inputs):
            raise _mismatch(call, f"arguments of {body.name!r}", list(map(_dtype, call.inputs)), body.input_types)
        if not call.inputs:
            raise _error(call, "a loop without values has no condition that could end it")
        # A value that the body returns as it is needs no Merge, Switch and NextIteration, and as a constant Enter it
        # can leave the loop as an invariant. A loop without any variable would have no condition per iteration: the
        # first value stays one in any case.
        unchanged = unchanged_values(body)
        varying = [index for index in range(len(call.inputs)) if index not in unchanged] or [0]
        inside = call.like("NoOp", [], {}, controls=[])
        values, merges = self._enter(call, set(varying))
        pivot = self._add(call, "Identity", [values[varying[0]]], {"T": _dtype(values[varying[0]])}, "pivot")
        inner = _Scope([pivot])
        continues, effects = self._body(inside, condition, f"{call.name}/cond", values, inner)
        if len(continues) != 1:
            raise _error(call, f"the condition {condition.name!r} returns {len(continues)} values, expected one")
        going = self._as_bool(call, continues[0], effects)
        loop_cond = self._add(call, "LoopCond", [going], {}, "loop_cond", [dtypes.bool])
        switches = {}
        for index in varying:
            dtype = _dtype(values[index])
            switches[index] = self._add(
                call, "Switch", [values[index], Output(loop_cond, 0)], {"T": dtype}, "switch", [dtype] * 2
            )
            values[index] = Output(switches[index], 1)
        pivot = self._add(call, "Identity", [values[varying[0]]], {"T": _dtype(values[varying[0]])}, "pivot")
        inner = _Scope([pivot])
        following, acting = self._body(inside, body, f"{call.name}/body", values, inner)
        for index in varying:
            attrs = {"T": _dtype(values[index])}
            controls = acting if index == varying[0] else []  # the next iteration waits for the first variable
            back = self._add(call, "NextIteration", [following[index]], attrs, "next", controls=controls)
            merges[index].inputs.append(Output(back, 0))
        results = list(call.inputs)
        for index, switch in switches.items():
            results[index] = Output(
                self._add(call, "Exit", [Output(switch, 0)], {"T": _dtype(Output(switch, 0))}, "exit"), 0
            )
        return results, [results[varying[0]].node] if effects or acting else []

    def _enter(self, call: Node, varying: set[int]) -> tuple[list[Output], dict[int, Node]]:
        """Adds the entrance of a loop; returns the values of an iteration, and the Merge nodes of its variables."""
        values: list[Output] = []
        merges: dict[int, Node] = {}
        for index, output in enumerate(call.inputs):
            dtype, shape = _dtype(output), call.shapes[index]
            attrs = {
                "T": dtype,
                "frame_name": call.name,
                "is_constant": index not in varying,
                "parallel_iterations": call.attrs["parallel_iterations"],
            }
            values.append(Output(self._add(call, "Enter", [output], attrs, "enter", controls=list(call.controls)), 0))
            if index in varying:
                attrs = {"T": dtype, "N": 2}
                merges[index] = self._add(
                    call, "Merge", [values[index]], attrs, "merge", [dtype, dtypes.int32], [shape, ()]
                )
                values[index] = Output(merges[index], 0)
        return values, merges

    # -- nodes --------------------------------------------------------------------------------------------------------

    def _add(
        self,
        call: Node,
        op_type: str,
        inputs: list[Output],
        attrs: dict[str, Any],
        name: str,
        types: Sequence[DType] | None = None,
        shapes: Sequence[Shape] | None = None,
        controls: Sequence[Node] = (),
    ) -> Node:
        """Adds a node under the name of a call; by default it has the type and shape of its last input."""
        if types is None:
            types = [_dtype(inputs[-1])] if inputs else []
        if shapes is None:
            shapes = [inputs[0].shape] * len(types) if inputs else []
        self._count += 1
        full_name = f"{call.name}/_{name}_{self._count}"
        node = call.like(
            op_type, inputs, attrs, name=full_name, dtypes=types, shapes=shapes, controls=list(controls), order=0
        )
        self._added.append(node)
        return node

    def _constant(self, call: Node, value: Any, beside: Output) -> Output:
        """Adds a constant that belongs to the frame and the branch of another value."""
        array = np.asarray(value)
        dtype = dtypes.as_dtype(array.dtype)
        tie = self._add(call, "Identity", [beside], {"T": _dtype(beside)}, "beside")
        return Output(self._add(call, "Const", [], {"value": array, "dtype": dtype}, "value", [dtype], [()], [tie]), 0)


def _dtype(output: Output) -> DType:
    node, index = output
    return node.dtypes[index].base_dtype


def _with_controls(call: Node, scope: _Scope) -> list[Node]:
    return [*call.controls, *scope.pivot] if call.controls else list(scope.pivot)


def _functions_of(node: Node | Operation) -> list[GraphFunction]:
    """Returns the functions that a node calls."""
    if not _is_call(node):
        return []
    if node.type in IFS:
        return [node.attrs["then_branch"], node.attrs["else_branch"]]
    if node.type in LOOPS:
        return [node.attrs["cond"], node.attrs["body"]]
    return list(node.attrs["branches"]) if node.type in CASES else [_function_of(node)]


def _function_of(call: Node | Operation) -> GraphFunction:
    if isinstance(call.definition, FunctionOp):
        return call.definition.function
    function: GraphFunction = call.attrs["f"]
    return function.symbolic_gradient if call.type == "SymbolicGradient" else function


def _error(call: Node, text: str) -> errors.InvalidArgumentError:
    described = errors.describe(f"{call.type} {call.name!r}: {text}", made_at=made_at(call.stack))
    return errors.InvalidArgumentError(call, None, described)


def _mismatch(call: Node, what: str, received: Iterable[DType], expected: Iterable[DType]) -> Exception:
    names = [[dtype.name for dtype in types] for types in (received, expected)]
    return _error(call, f"the {what} have the types {names[0]}, expected {names[1]}")
