"""Reverse-mode automatic differentiation: extends a graph by the nodes that compute gradients.

Operations are visited in reverse topological order, each after all its consumers, and each op's gradient function maps
the gradients of its outputs to gradients of its inputs. Partial gradients of one tensor are summed; those of embedding
lookups stay sparse (IndexedSlices). A while loop is visited as a single node, whose gradient is a loop as well.
"""

from __future__ import annotations

import contextlib
import enum
import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import compatible, merge, show
from thalweg._src.graph.autodiff.loops import Backward, carries_gradient, differentiate, gradient_context
from thalweg._src.graph.autodiff.registry import GRADIENTS, Gradient, GradientFunction, as_list
from thalweg._src.graph.control_flow.context import Context, Loop, context_of, encloses
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly
from thalweg._src.graph.function import FUNCTIONAL, FunctionOp
from thalweg._src.graph.function_graph import FunctionGraph
from thalweg._src.graph.gc_pause import collector_paused
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.control import tuple as wait_for_all
from thalweg._src.graph.ops.math import accumulate_n, add_n
from thalweg._src.graph.ops.reshape import ones_like, zeros_like
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.graph.walk import reachable


@export("AggregationMethod")
class AggregationMethod:
    """Selects how partial gradients are summed: in one operation, or pairwise with less memory."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


@export("UnconnectedGradients")
class UnconnectedGradients(enum.Enum):
    """The result of `gradients` for a tensor that the outputs do not depend on."""

    NONE = "none"
    ZERO = "zero"


@export("gradients")
def gradients(
    ys: TensorLike,
    xs: TensorLike,
    grad_ys: TensorLike | Sequence[TensorLike | None] | None = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: TensorLike | None = None,
    unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
) -> list[Any]:
    """Returns sum(dy/dx) for each x, None (or zeros) where no y depends on it.

    Args:
        grad_ys: Gradients with respect to each y; ones by default.
        gate_gradients: Whether the gradients of an operation wait for each other.
        stop_gradients: Tensors that are treated as constants.
        unconnected_gradients: What stands for a missing gradient: a `tf.UnconnectedGradients`.
    """
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(f"Invalid aggregation_method specified {aggregation_method}.")
    unconnected = UnconnectedGradients(unconnected_gradients)
    if executing_eagerly():
        raise RuntimeError(
            "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead."
        )
    y_tensors = [_differentiable(y) for y in _as_list(ys)]
    x_tensors = [_source(x) for x in _as_list(xs)]
    stops = {_source(t) for t in _as_list(() if stop_gradients is None else stop_gradients)}
    if not y_tensors:
        return [None] * len(x_tensors)
    graph = y_tensors[0].graph
    # Within a function, tensors of outer graphs are differentiated by way of the arguments that captured them.
    if isinstance(graph, FunctionGraph):
        x_tensors, stops = [graph.inner(x) for x in x_tensors], {graph.inner(t) for t in stops}
    # The scope of this call is noted in the graph, since a gradient function may need a name of its own for each call:
    # two calls that differentiate one TensorArray must not add to the same array of gradients.
    with collector_paused(), graph.as_default(), name_scope(name, "gradients") as scope, _in_progress(graph, scope):
        walk = _Walk(
            graph, y_tensors, x_tensors, stops, colocate_gradients_with_ops, gate_gradients, aggregation_method
        )
        walk.start(walk.initial(_as_list(grad_ys) if grad_ys is not None else [None] * len(y_tensors)))
        walk.run()
        result = [walk.gradient_of(x) for x in x_tensors]
        if unconnected is UnconnectedGradients.ZERO:
            result = [zeros_like(_value(x)) if g is None else g for x, g in zip(_as_list(xs), result)]
    return result


@contextlib.contextmanager
def _in_progress(graph: Graph, scope: str) -> Iterator[None]:
    before, graph.scopes.gradients = graph.scopes.gradients, scope
    try:
        yield
    finally:
        graph.scopes.gradients = before


def _as_list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _value(x: TensorLike) -> Any:
    return x if isinstance(x, Tensor) else convert_to_tensor(x)


def _differentiable(y: TensorLike) -> Tensor:
    if isinstance(y, IndexedSlices):
        y = y.values
    tensor = convert_to_tensor(y)
    if tensor.dtype.is_bool or tensor.dtype is dtypes.string:
        raise TypeError(f"Gradients require numeric tensors, but {tensor.name!r} has dtype {tensor.dtype.name}")
    return tensor


def _source(x: TensorLike) -> Tensor:
    """Returns the tensor that accumulates the gradient with respect to x: for a variable, its handle."""
    if isinstance(x, IndexedSlices):
        return x.values
    # A variable is read many times, each time by an operation of its own. All reads lead back to its handle, so that
    # the partial gradients meet there.
    handle = getattr(x, "_handle", None)
    return convert_to_tensor(handle if isinstance(handle, Tensor) else x)


class _Walk:
    """One backward pass from the outputs to the inputs."""

    def __init__(
        self,
        graph: Graph,
        ys: Sequence[Tensor],
        xs: Sequence[Tensor],
        stops: set[Tensor],
        colocate: bool,
        gate: bool,
        method: int | None,
        backward: Backward | None = None,
    ) -> None:
        self._graph = graph
        self._backward = backward  # the gradient loop under construction, if this pass differentiates a loop's body
        self._ys = ys
        self._xs = set(xs)
        self._stops = stops
        self._colocate = colocate
        self._gate = gate
        self._method = method
        # Partial gradients are collected per tensor and summed once, when the tensor's operation is visited: by then
        # all consumers have been visited, so that the list is complete. To sum each as it comes would add n - 1
        # operations with two inputs instead of one with n.
        self._partials: dict[Tensor, list[Gradient]] = {}
        self._sums: dict[Tensor, Gradient] = {}

    def initial(self, grad_ys: list[Any]) -> list[Gradient]:
        """Returns the gradients of the ys themselves: those given, or ones."""
        ys = self._ys
        if len(grad_ys) != len(ys):
            raise ValueError(f"Passed {len(grad_ys)} grad_ys for {len(ys)} ys")
        result: list[Gradient] = []
        for index, (y, grad) in enumerate(zip(ys, grad_ys)):
            with self._colocation(y.op):
                if grad is None:
                    if y.dtype.is_complex:
                        raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype.name})")
                    with name_scope(f"grad_ys_{index}"):
                        grad = ones_like(y)
                elif not isinstance(grad, IndexedSlices):
                    grad = convert_to_tensor(grad, y.dtype, name=f"grad_ys_{index}")
            result.append(grad)
        return result

    def start(self, initial: Sequence[Gradient]) -> None:
        for y, grad in zip(self._ys, initial):
            if carries_gradient(y) or y in self._xs:  # integers have no gradient, but asking for one is not an error
                self._partials.setdefault(y, []).append(grad)

    def _between(self) -> list[Operation]:
        """Returns the operations on a path from an x to a y, in reverse order of creation, so consumers come first."""
        # Two passes: what the ys depend on, then what of that depends on an x. Only operations on such paths are
        # differentiated; the rest of a large graph, and above all ops without gradient beside the path, are never
        # looked at. The second pass follows differentiable tensors only: a path through an integer carries no gradient.
        above = reachable((y.op for y in self._ys), lambda op: (t.op for t in op.inputs if t not in self._stops))
        between: set[Operation] = set()
        fronts = [c for x in self._xs for c in x.consumers()]
        while fronts:
            operation = fronts.pop()
            if operation in above and operation not in between:
                between.add(operation)
                for tensor in operation.outputs:
                    if carries_gradient(tensor) and (tensor not in self._stops or tensor in self._xs):
                        fronts += tensor.consumers()
        return sorted(between, key=lambda op: -op.id)

    def run(self) -> None:
        between = self._between()
        members = set(between)
        # A breadth-first walk from the ys: an operation comes after all its consumers, so that the gradients of its
        # outputs are final. Without loops the reverse order of creation is such an order, and needs no counting.
        for node in self._collapse_loops(between):
            if isinstance(node, Loop):
                self._visit_loop(node, members)
                continue
            output_grads = [self.gradient_of(t) for t in node.outputs]
            if any(g is not None for g in output_grads):
                with self._context_for(node):
                    self._visit(node, output_grads, members)

    def _collapse_loops(self, between: list[Operation]) -> Iterable[Operation | Loop]:
        """Yields the operations in reverse topological order, with each loop collapsed to one node."""
        # A loop has to be one node of this walk: the gradient of its body can be built only when the gradients of all
        # its exits are there, while in the order of creation one exit's consumer may precede another exit. Rewired
        # inputs (`_update_input`) break the order of creation as well, which the ids show.
        loops = {operation: loop for operation in between if (loop := self._loop_around(operation)) is not None}
        is_rewired = self._graph.edits and any(t.op.id > op.id for op in between for t in op.inputs)
        return _backward_order(between, loops) if loops or is_rewired else between

    def _loop_around(self, operation: Operation) -> Loop | None:
        if operation.type == "Exit":
            return self._loop_of(context_of(operation.inputs[0]))
        return None if operation.context is None else self._loop_of(context_of(operation))

    def _loop_of(self, context: Context | None) -> Loop | None:
        """Returns the outermost loop around a context that does not also enclose this pass."""
        # A pass within the gradient of a loop's body is inside that loop already: only loops in the body are nodes of
        # it.
        here: Any = self._graph.scopes.context if self._backward is None else self._backward.forward
        loop = None
        for around in context.chain() if context is not None else ():
            # Contexts further out enclose this pass, too; the last loop before them is the outermost that is a node of
            # this walk.
            if encloses(around, here):
                break
            if isinstance(around, Loop):
                loop = around
        return loop

    def _context_for(self, operation: Operation) -> contextlib.AbstractContextManager[None]:
        """Returns the scope in which an operation's gradient is built: the branch it is in, or that branch's mirror."""
        here: Any = self._graph.scopes.context
        if operation.context is None and here is None:
            return contextlib.nullcontext()
        context = gradient_context(self._graph, context_of(operation))
        return contextlib.nullcontext() if context is here else self._graph.control_flow(context)

    def _colocation(self, operation: Operation) -> contextlib.AbstractContextManager[None]:
        """Returns the scope that places gradients beside an operation, if that is wanted."""
        return (
            self._graph.colocate_with(operation, ignore_existing=True) if self._colocate else contextlib.nullcontext()
        )

    def _visit_loop(self, loop: Loop, members: set[Operation]) -> None:
        grads = {variable: self.gradient_of(variable.exit) for variable in loop.variables}
        grads = {variable: grad for variable, grad in grads.items() if grad is not None}
        if not grads:
            return

        def is_needed(tensor: Tensor) -> bool:
            return tensor in self._xs or (tensor.op in members and tensor not in self._stops)

        def walk(
            ys: Sequence[Tensor],
            xs: Sequence[Tensor],
            stops: set[Tensor],
            initial: Sequence[Gradient],
            backward: Backward,
        ) -> Any:
            # The body is differentiated by the same walk, with the loop variables as its xs. What it adds belongs to
            # the gradient loop, and forward values that it uses come from the stacks of `backward`.
            inner = _Walk(self._graph, ys, xs, stops, self._colocate, self._gate, self._method, backward)
            inner.start(initial)
            inner.run()
            return inner.gradient_of

        with self._context_for(loop.variables[0].exit.op):
            name = f"{loop.name.rpartition('/')[2]}_grad"
            for tensor, grad in differentiate(loop, grads, is_needed, self._stops, walk, name):
                # Gradients of the loop's initial values and captured tensors are partial gradients like all others.
                self._add(loop.variables[0].exit.op, tensor, grad)

    def _visit(self, operation: Operation, output_grads: list[Any], members: set[Operation]) -> None:
        rule = rule_of(operation)
        if rule is None:
            return
        with name_scope(f"{operation.name}_grad"), self._colocation(operation):
            for index, tensor in enumerate(operation.outputs):
                # Gradient functions expect a gradient for each output. Zeros stand for an output that no y depends on,
                # except where the function does without, as those of Switch and of calls do, whose zeros would be whole
                # tensors computed for nothing.
                if output_grads[index] is None and len(operation.outputs) > 1 and not _takes_none(operation):
                    is_number = tensor.dtype.is_floating or tensor.dtype.is_complex
                    in_loop = self._backward is not None
                    output_grads[index] = zeros_like(tensor, optimize=in_loop) if is_number else None
            result: list[Any] = as_list(rule(operation, *output_grads), len(operation.inputs))
            if len(result) != len(operation.inputs):
                raise ValueError(
                    f"Num gradients {len(result)} generated for op {operation.name!r} ({operation.type}) "
                    f"do not match num inputs {len(operation.inputs)}"
                )
            for index, tensor in enumerate(operation.inputs):
                is_needed = tensor in self._xs or (tensor.op in members and tensor not in self._stops)
                grad = result[index] if is_needed else None
                # A gradient given as a function is built only if its input is on a path to an x.
                result[index] = grad() if callable(grad) else grad
            if self._gate:
                result = _gated(result)
        for tensor, grad in zip(operation.inputs, result):
            if grad is not None:
                self._add(operation, tensor, grad)

    def _add(self, operation: Operation, tensor: Tensor, grad: Gradient) -> None:
        if isinstance(grad, Tensor) and tensor.dtype is not dtypes.resource:
            # Found here, the error names the operation whose gradient is wrong; in the sum it would name an AddN.
            if not compatible(grad.dims, tensor.dims):
                raise ValueError(
                    f"the gradient of {operation.name!r} for its input {tensor.name!r} has shape {show(grad.dims)}, "
                    f"but the input has shape {show(tensor.dims)}"
                )
            # The gradient has the shape of its tensor, also where inference does not see it, as after a reshape to a
            # dynamic shape.
            if tensor.dims is not None and grad.dims != tensor.dims:
                grad.dims = merge(grad.dims, tensor.dims)
        self._partials.setdefault(tensor, []).append(grad)

    def gradient_of(self, tensor: Tensor) -> Any:
        """Returns the sum of a tensor's partial gradients, or None."""
        if tensor not in self._sums:
            partials = self._partials.get(tensor)
            if not partials:
                return None
            # Summed where the tensor was made, not where it is asked for: in its branch or its loop's mirror.
            with self._context_for(tensor.op), self._colocation(tensor.op):
                self._sums[tensor] = aggregate(partials, self._method)
        return self._sums[tensor]


def _backward_order(between: list[Operation], loops: dict[Operation, Loop]) -> Iterable[Operation | Loop]:
    """Yields operations and loops after all their consumers, the most recently created first."""
    # Kahn's algorithm on the collapsed graph: a node is ready once no consumer of it is left. Of the ready ones the
    # most recent goes first, the order that a graph without loops has by itself.
    node_of = {operation: loops.get(operation, operation) for operation in between}
    consumers: dict[Any, set[Any]] = {node: set() for node in node_of.values()}
    producers: dict[Any, set[Any]] = {node: set() for node in consumers}
    newest: dict[Any, int] = {}
    for operation, node in node_of.items():
        newest[node] = max(newest.get(node, -1), operation.id)
        for tensor in operation.inputs:
            source = node_of.get(tensor.op)
            if source is not None and source is not node:
                consumers[source].add(node)
                producers[node].add(source)
    ready = [(-newest[node], node) for node, after in consumers.items() if not after]
    heapq.heapify(ready)
    while ready:
        _, node = heapq.heappop(ready)
        yield node
        for source in producers[node]:
            consumers[source].discard(node)
            if not consumers[source]:
                heapq.heappush(ready, (-newest[source], source))


def rule_of(operation: Operation) -> GradientFunction | None:
    """Returns the gradient function of an operation, None if it is not differentiable."""
    # A name set by gradient_override_map, or by a custom gradient, precedes the op's own function.
    override = operation.attrs.get("_gradient_op_type")
    name = override or ("PartitionedCall" if isinstance(operation.definition, FunctionOp) else operation.type)
    if name in GRADIENTS:
        return GRADIENTS.get(name)
    if not operation.definition.differentiable:
        return None
    raise LookupError(
        f"No gradient defined for operation {operation.name!r} (op type: {operation.type}). "
        "Register one with @tf.RegisterGradient, or declare it with tf.NotDifferentiable."
    )


def _takes_none(operation: Operation) -> bool:
    """Returns whether an op's gradient function takes None for outputs without gradients, instead of zeros."""
    return operation.type in ("Switch", "RefSwitch", *FUNCTIONAL) or isinstance(operation.definition, FunctionOp)


def _gated(grads: list[Any]) -> list[Any]:
    """Makes every gradient of an operation wait for all the others."""
    return wait_for_all(grads) if sum(g is not None for g in grads) > 1 else grads


def aggregate(partials: Sequence[Gradient], method: int | None = None) -> Gradient:
    """Returns the sum of partial gradients, which is sparse only if all of them are."""
    if len(partials) == 1:
        return partials[0]
    # Rows of sparse gradients are concatenated, not added: the optimizer, or the conversion to a dense tensor, adds
    # rows with equal indices. One dense partial makes the sum dense in any case.
    if all(isinstance(g, IndexedSlices) for g in partials):
        return _concatenate([g for g in partials if isinstance(g, IndexedSlices)])
    tensors = [convert_to_tensor(g) for g in partials]
    if method == AggregationMethod.EXPERIMENTAL_ACCUMULATE_N and len(tensors) > 2:
        return accumulate_n(tensors)
    if method == AggregationMethod.EXPERIMENTAL_TREE:
        total = tensors[0]
        for tensor in tensors[1:]:
            total = add_n([total, tensor])
        return total
    return add_n(tensors)


def _concatenate(slices: Sequence[IndexedSlices]) -> IndexedSlices:
    values = concat([s.values for s in slices], 0)
    indices = concat([_as_int64(s.indices, slices) for s in slices], 0)
    dense = next((s.dense_shape for s in slices if s.dense_shape is not None), None)
    return IndexedSlices(values, indices, dense)


def _as_int64(indices: Tensor, slices: Sequence[IndexedSlices]) -> Tensor:
    # Lookups by int32 and by int64 may meet in one table.
    if len({s.indices.dtype for s in slices}) == 1:
        return indices
    wide: Tensor = cast(indices, dtypes.int64)
    return wide
