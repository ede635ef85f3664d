"""Gradients of functions: a forward function that also returns what a backward function needs.

All three share one graph. Gradients are added to the graph of the body, with its branches and loops, as in any graph;
the backward function consists of what was added, and takes each value of the body that it uses as an argument.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.autodiff.loops import carries_gradient
from thalweg._src.graph.autodiff.registry import Gradient
from thalweg._src.graph.control_flow.context import Branch, Loop, bring, context_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.function import Body, GraphFunction
from thalweg._src.graph.function_graph import FunctionGraph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.control_flow import merge_op
from thalweg._src.graph.ops.functional import call, fake_param_op
from thalweg._src.graph.ops.reshape import zeros_like
from thalweg._src.graph.tensor import Tensor

_lock = threading.RLock()


@dataclass(frozen=True, slots=True)
class ForwardBackward:
    """A function's forward and backward functions.

    forward: takes what the function takes; returns its results and then others, which the backward function needs
    backward: takes the gradients of some results, then saved values, then captured tensors; returns gradients of inputs
    received: the indices of the results whose gradients the backward function takes
    saved: the saved values, as tensors of the body: among its inputs, or among the results of the forward function
    captured: tensors of outer graphs that only the gradients use
    counts: for each input the number of results of the backward function that are its gradient: none, one, or the two
        or three tensors of an IndexedSlices
    """

    forward: GraphFunction
    backward: GraphFunction
    received: tuple[int, ...]
    saved: tuple[Tensor, ...]
    captured: tuple[Tensor, ...]
    counts: tuple[int, ...]

    def arguments(self, inputs: Sequence[Any], results: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        """Returns the inputs of a call of the backward function, from those and the results of the forward function.

        grads: a gradient for each result in `received`
        """
        # Inputs last: a result that is an input passed through has the same tensor, and the input is there without a
        # copy.
        values = dict(zip(self.forward.outputs, results)) | dict(zip(self.forward.inputs, inputs))
        return [*grads, *(values[tensor] for tensor in self.saved), *self.captured]

    def gradients(self, results: Sequence[Any]) -> list[Any]:
        """Returns the gradient of each input, from the results of the backward function."""
        gradients: list[Any] = []
        position = 0
        for count in self.counts:
            components = results[position : position + count]
            position += count
            gradients.append(None if not components else components[0] if count == 1 else IndexedSlices(*components))
        return gradients


def forward_backward(function: GraphFunction, received: Sequence[int] | None = None) -> ForwardBackward:
    """Returns the forward and backward functions of a function; they are made once.

    received: the indices of the results whose gradients are given, by default all that have one
    """
    if received is None:
        received = [index for index, tensor in enumerate(function.outputs) if carries_gradient(tensor)]
    key = tuple(received)
    # The bodies of functions are shared by the graphs that call them, and threads may differentiate one at the same
    # time.
    with _lock:
        if key not in function.differentiated:
            function.differentiated[key] = _differentiate(function, key)
        pair: ForwardBackward = function.differentiated[key]
    return pair


def _differentiate(function: GraphFunction, received: tuple[int, ...]) -> ForwardBackward:
    graph = function.graph
    # Noted before gradients are added, as what is new afterwards is the backward function.
    split = _Split(graph)
    captured = len(graph.captured)
    ys = [function.outputs[index] for index in received]
    xs = [tensor for tensor in function.inputs if carries_gradient(tensor)]
    # Gradients are added to the body itself, where its branches, loops and static shapes are at hand. Then the graph is
    # cut in two: whatever the new operations use of the old ones becomes a further result of the forward function.
    with graph.as_default(), graph.name_scope(None), graph.control_flow(None), graph.device(None):
        output_grads = [graph.argument(y.dtype.base_dtype, y.dims, "gradient") for y in ys]
        input_grads = dict(zip(xs, gradients(ys, xs, output_grads, stop_gradients=function.inputs)))
        components = [_components(input_grads.get(tensor)) for tensor in function.inputs]
        results = [tensor for flat in components for tensor in flat]
        split.run(results, output_grads)
    # Arguments and results are there anyway, and need not be saved a second time.
    available = {*function.inputs, *function.outputs}
    outputs = [*function.outputs, *(tensor for tensor in split.saved if tensor not in available)]
    captured_here = list(graph.captured.values())[captured:]
    name = f"{function.name}_{{}}_{len(function.differentiated)}"
    inputs = [*output_grads, *split.saved, *captured_here]
    members = split.forward_members(function)
    return ForwardBackward(
        GraphFunction.of_body(name.format("forward"), Body(graph, function.inputs, outputs, function.targets, members)),
        GraphFunction.of_body(name.format("backward"), Body(graph, inputs, results, [], frozenset(split.members))),
        received,
        tuple(split.saved),
        tuple(graph.captured)[captured:],
        tuple(map(len, components)),
    )


def _components(grad: Gradient | None) -> list[Tensor]:
    if grad is None:
        return []
    if isinstance(grad, IndexedSlices):
        return [component for component in (grad.values, grad.indices, grad.dense_shape) if component is not None]
    return [grad]


class _Split:
    """Separates the operations of gradients from those of the body.

    members: the operations of the backward function
    saved: the values of the body that they use
    """

    def __init__(self, graph: FunctionGraph) -> None:
        self._graph = graph
        self._old = set(graph.operations)
        self._loops = {loop for operation in graph.operations for loop in _loops_around(operation)}
        self._leaving: set[Operation] = set()
        self.members: set[Operation] = set()
        self.saved: dict[Tensor, None] = {}

    def run(self, results: Sequence[Tensor], output_grads: Sequence[Tensor]) -> None:
        self._walk(results, output_grads)
        # A value of a branch cannot be a result of the function: it is dead if the other side is taken. It leaves by a
        # Merge whose other input is a dummy, and enters the mirrored branch again by a Switch, where it is alive
        # exactly if it was computed. The operations that this adds may use further values of branches, so it is
        # repeated until none is left. Values of loops need nothing: loops save their own on stacks.
        inside = [tensor for tensor in self.saved if context_of(tensor) is not None]
        while inside:
            additions: dict[Operation, list[Operation]] = {}
            for tensor in inside:
                count = len(self._graph.operations)
                self._pass_outside(tensor)
                additions.setdefault(tensor.op, []).extend(self._graph.operations[count:])
            self._move(additions)
            self._walk(results, output_grads)
            inside = [tensor for tensor in self.saved if context_of(tensor) is not None]

    def forward_members(self, function: GraphFunction) -> frozenset[Operation] | None:
        """Returns the operations that those of the forward function may wait for; None for all."""
        if function.body.members is None:
            return None
        others = (op for op in self._graph.operations if op not in self._old or _is_pivot(op))
        return function.body.members.union(others)

    def _walk(self, results: Sequence[Tensor], output_grads: Sequence[Tensor]) -> None:
        """Finds the operations that the results depend on, back to values of the body."""
        self.members, self.saved = set(), {}
        received = set(output_grads)
        stack: list[Tensor | Operation] = list(results)
        while stack:
            element = stack.pop()
            operation = element.op if isinstance(element, Tensor) else element
            if element in received or operation in self.members:
                continue
            # An old value ends the walk, and is saved.
            if isinstance(element, Tensor) and not self._is_backward(operation):
                self.saved[element] = None
                continue
            self.members.add(operation)
            # Old control inputs are dropped: the forward function has run when the backward one is called. Pivots stay,
            # since they say which branch an operation without inputs belongs to.
            stack += operation.inputs
            stack += [
                control for control in operation.control_inputs if self._is_backward(control) or _is_pivot(control)
            ]

    def _is_backward(self, operation: Operation) -> bool:
        """Returns whether an operation belongs to the backward function: if it is new, or needs not be saved."""
        # New, but part of the forward function, whose branches they leave.
        if operation in self._leaving:
            return False
        # Constants are cheaper to repeat than to pass, and a Switch of a branch belongs to both: its input is what is
        # saved.
        if operation in self._old:
            is_free = operation.type == "Const" and not operation.control_inputs
            return is_free or (operation.type == "Switch" and not _loops_around(operation))
        if operation.type == "Placeholder" and operation.outputs[0] in self._graph.captured.values():
            return True
        # New operations in old loops push on stacks: they run in the forward function.
        return self._loops.isdisjoint(_loops_around(operation))

    def _pass_outside(self, tensor: Tensor) -> None:
        """Makes a value of a branch a result of the conditional, from which the gradients take it back."""
        # Kept with the graph, since a function may be differentiated again, with respect to other results.
        outside: dict[Tensor, Tensor] = self._graph.singleton("values outside of branches", dict)
        if tensor not in outside:  # else the function is a backward one, and takes the result as an argument
            outside[tensor] = self._outside(tensor)
        inner = bring(outside[tensor], context_of(tensor))
        for consumer in list(tensor.consumers()):
            if consumer in self.members:
                for index, source in enumerate(consumer.inputs):
                    if source is tensor:
                        consumer._replace_input(index, inner)

    def _outside(self, tensor: Tensor) -> Tensor:
        context = context_of(tensor)
        value = tensor
        while isinstance(context, Branch):
            # Its value is never read, as the mirrored branch takes the side that has one; a FakeParam takes no memory.
            with context.sibling.entered():
                nothing = fake_param_op(dtype=tensor.dtype, shape=tensor.dims)
            sides = [nothing, value] if context.side else [value, nothing]
            with context.left():
                value = merge_op.many(sides)[0]
            self._leaving |= {nothing.op, value.op}
            context = context.outer
        return value

    def _move(self, additions: dict[Operation, list[Operation]]) -> None:
        """Moves operations behind those that they were made for, so that each still comes before its consumers."""
        # Creation order is the topological order that everything relies on. A backward function that exists consumes
        # what was added last, so the additions are put where they would have been made at once, and all ids are given
        # out again.
        moved = {operation for group in additions.values() for operation in group}
        operations = [operation for operation in self._graph.operations if operation not in moved]
        ordered = [member for operation in operations for member in (operation, *additions.get(operation, ()))]
        self._graph.operations[:] = ordered
        for index, operation in enumerate(ordered):
            operation.id = index


def _loops_around(operation: Operation) -> set[Loop]:
    """Returns the loops that an operation belongs to; an Exit belongs to the loop that it leaves."""
    contexts = [context_of(operation)]
    if operation.type == "Exit":
        contexts.append(context_of(operation.inputs[0]))
    return {around for context in contexts if context is not None for around in context.chain() if _is_loop(around)}


def _is_loop(context: object) -> bool:
    return isinstance(context, Loop)


def _is_pivot(operation: Operation) -> bool:
    """Returns whether an operation only says which branch is taken."""
    return operation.type in ("Identity", "Switch") and isinstance(context_of(operation), Branch)


def symbolic_gradient(function: GraphFunction) -> GraphFunction:
    """Returns the function from inputs and gradients of the results to gradients of all inputs."""
    # The library of a GraphDef may name a gradient function, which then replaces the derivative of the body.
    if function.gradient in function.library:
        return function.library[function.gradient]
    graph = FunctionGraph()
    with graph.as_default():
        inputs = [graph.argument(tensor.dtype, tensor.dims) for tensor in function.inputs]
        grads = [graph.argument(tensor.dtype, tensor.dims, "gradient") for tensor in function.outputs]
        results = call(function, inputs).outputs
        pairs = [pair for pair in zip(results, grads) if carries_gradient(pair[0])]
        input_grads = gradients([y for y, _ in pairs], inputs, [grad for _, grad in pairs])
        outputs = [zeros_like(x) if g is None else convert_to_tensor(g) for x, g in zip(inputs, input_grads)]
    return GraphFunction(f"{function.name}_gradient", graph, [*inputs, *grads], outputs)


GraphFunction.differentiate = staticmethod(symbolic_gradient)
