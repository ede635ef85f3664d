"""Gradients of while loops: a second loop that runs the iterations of the first one in reverse.

The forward values that gradient functions need are saved on stacks: tensor lists that the forward loop carries as loop
variables, pushing one element per iteration, and that the backward loop pops. Lists, pushes and pops are ordinary
differentiable values, so higher-order gradients need no special case.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.shapes import is_fully_defined
from thalweg._src.graph.autodiff.registry import Gradient
from thalweg._src.graph.control_flow.context import Branch, Context, Loop, LoopVariable, bring, context_of, encloses
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.comparison import greater
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.control_flow import merge_op
from thalweg._src.graph.ops.math import add_n
from thalweg._src.graph.ops.reshape import shape, zeros, zeros_like
from thalweg._src.graph.ops.state import variable_shape
from thalweg._src.graph.ops.tensor_list import empty_tensor_list_op, pop_back_op, push_back_op
from thalweg._src.graph.tensor import Tensor


class Backward(Loop):
    """The loop of a gradient: each of its iterations has access to the values of one iteration of its forward loop."""

    def __init__(self, graph: Graph, name: str, forward: Loop) -> None:
        super().__init__(graph, name, forward.parallel_iterations, True, forward.swap_memory)
        self.forward = forward
        # Each forward value is restored once, however many gradient functions use it; its stack would be popped twice
        # otherwise.
        self._restored: dict[Tensor, Tensor] = {}
        self._branches: dict[Branch, Branch] = {}

    @property
    def scope(self) -> str:
        return f"{self.name}/"

    def saved(self, tensor: Tensor) -> Tensor | None:
        context = context_of(tensor)
        if not encloses(self.forward, context) or context is None:
            return None
        if tensor not in self._restored:
            self._restored[tensor] = self._restore(tensor, context)
        return self._restored[tensor]

    def _restore(self, tensor: Tensor, context: Context) -> Tensor:
        """Returns a forward value inside this loop: the outer value of a loop invariant, recomputed, or saved."""
        operation = tensor.op
        # What does not change from one iteration to the next needs no stack: loop invariants enter this loop as they
        # entered the first one, the input of a Switch stands for its output, and constants are repeated.
        if operation.type in ("Enter", "RefEnter") and operation.attrs["is_constant"] and context is self.forward:
            return bring(operation.inputs[0], self)
        if operation.type in ("Switch", "RefSwitch") and isinstance(context, Branch):
            return bring(operation.inputs[0], self.mirrored(context.outer))
        if operation.type == "Const":
            with self.entered():
                return constant(operation.attrs["value"], tensor.dtype)
        # Instead of a stack per value, only loop variables have one, and the body is computed again from them: memory
        # for time.
        if self.forward.recompute and self._is_recomputable(operation):
            for earlier in self._to_recompute(operation):
                self._recompute(earlier)
            return self._restored[tensor]
        return self._save(tensor, context)

    def _to_recompute(self, operation: Operation) -> list[Operation]:
        """Returns an operation of the forward loop with all that must be recomputed before it, in order."""
        chosen = {operation}
        stack = [operation]
        while stack:
            for value in stack.pop().inputs:
                earlier, context = value.op, context_of(value)
                # The walk ends at values that this loop has (restored ones, and those from outside) and at what must be
                # saved. In the order of creation each of the list finds its inputs, so that deep bodies take no
                # recursion.
                inside = context is not None and encloses(self.forward, context)
                if inside and earlier not in chosen and value not in self._restored and self._is_recomputable(earlier):
                    chosen.add(earlier)
                    stack.append(earlier)
        return sorted(chosen, key=lambda one: one.id)

    def _is_recomputable(self, operation: Operation) -> bool:
        facts = operation.definition.facts_in_steps
        # A second call of a stateful op may give another value, or do its effect twice.
        if facts.stateful or facts.waits or facts.control_flow or operation.type == "Const":
            return False
        return not any(operation is variable.arrival.op for variable in self.forward.variables)

    def _recompute(self, operation: Operation) -> None:
        """Recomputes an operation of the forward loop from its saved inputs."""
        mirror = self.mirrored(context_of(operation.outputs[0]))
        restored = [(value, self.saved(value)) for value in operation.inputs]
        inputs = [bring(value if saved is None else saved, mirror) for value, saved in restored]
        with self.graph.control_flow(mirror):
            again = self.graph.create_op(operation.type, inputs, attrs=dict(operation.attrs))
        for old, new in zip(operation.outputs, again.outputs):
            new.dims = old.dims
            self._restored[old] = new

    def _save(self, tensor: Tensor, context: Context) -> Tensor:
        """Pushes a value on a stack in each iteration of the forward loop and pops it in this one."""
        # Both ends of a stack are loop variables. The forward loop starts from an empty list, pushes in each iteration,
        # and its Exit is the full list, from which this loop starts and pops: iteration k from the end finds what
        # iteration k from the start, counted backwards, has pushed, since both loops run the same number of times. Push
        # and pop are differentiable, each by the other, which is all that a second derivative takes.
        graph, forward = self.graph, self.forward
        with forward.left():
            empty = empty_list(tensor.dtype)
        saving = forward.add_variable(empty, ())
        forward.open(saving)
        with graph.control_flow(context):
            longer = push_back_op(saving.arrival, tensor)
        self._may_swap(longer)
        # A value of a branch is pushed only if the branch is taken, and popped only if its mirror is: both have one
        # predicate, itself restored from a stack. The list passes the other side unchanged.
        forward.close(saving, _joined(longer, saving.arrival, context, forward))
        mirror = self.mirrored(context)
        taking = self.add_variable(bring(saving.exit, self.outer), ())
        self.open(taking)
        with graph.control_flow(mirror):
            shorter, value = pop_back_op.many(taking.arrival, _element_shape(tensor), element_dtype=tensor.dtype)
        value.dims = tensor.dims
        self._may_swap(value)
        self.close(taking, _joined(shorter, taking.arrival, mirror, self))
        return value  # type: ignore[no-any-return]

    def _may_swap(self, tensor: Tensor) -> None:
        if self.swap_memory:
            tensor.op.attrs["_swap_memory"] = True

    def mirrored(self, context: Context | None) -> Context:
        """Returns the context of this loop that corresponds to one of the forward loop."""
        if context is self.forward:
            return self
        assert isinstance(context, Branch)
        # Both sides are made together: either may be needed for the zeros of a gradient that flows through the other
        # one.
        if context not in self._branches:
            outer = self.mirrored(context.outer)
            with self.graph.control_flow(outer):
                name = self.graph.unique_name(f"{self.name.rpartition('/')[2]}_cond")
                pred = bring(context.pred, outer)
                mirror, sibling = (Branch(self.graph, name, pred, side) for side in (context.side, not context.side))
            mirror.sibling, sibling.sibling = sibling, mirror
            self._branches[context], self._branches[context.sibling] = mirror, sibling
        return self._branches[context]


def gradient_context(graph: Graph, context: Context | None) -> Context | None:
    """Returns the context of the gradients of a context's operations, seen from the loop under construction."""
    here: Any = graph.scopes.context
    # Gradients of an operation in a branch of the forward loop belong to the branch of the same predicate in the
    # gradient loop: they run only in iterations that took it.
    for around in here.chain() if here is not None else ():
        if isinstance(around, Backward) and context is not None and encloses(around.forward, context):
            return around.mirrored(context)
    return context if encloses(here, context) else here


def _joined(value: Tensor, otherwise: Tensor, context: Context, loop: Loop) -> Tensor:
    """Merges a value out of the branches it was computed in with `otherwise`, its value where they are not taken."""
    # Out of nested branches one Merge at a time.
    while isinstance(context, Branch):
        sides = {context.side: value, not context.side: bring(otherwise, context.sibling)}
        with context.left():
            value = merge_op.many([sides[False], sides[True]])[0]
        assert context.outer is not None
        context = context.outer
    return value


def empty_list(dtype: DTypeLike) -> Tensor:
    return empty_tensor_list_op(-1, -1, element_dtype=dtype, shape_type=dtypes.int32)


def _element_shape(tensor: Tensor) -> Any:
    return list(tensor.dims) if is_fully_defined(tensor.dims) and tensor.dims else -1


def differentiate(
    loop: Loop,
    exit_grads: dict[LoopVariable, Any],
    is_needed: Callable[[Tensor], bool],
    stops: set[Tensor],
    walk: Callable[..., Any],
    name: str,
) -> list[tuple[Tensor, Any]]:
    """Adds the loop that computes a loop's gradients; returns (outer tensor, its gradient) for those that are wanted.

    walk(ys, xs, stops, grad_ys, backward) differentiates the body inside the loop `backward` and returns a function
    from a tensor to its gradient. The backward loop carries a countdown and one gradient per variable in `carried`;
    gradients of captured outer values are accumulated over the iterations.
    """
    if not loop.back_prop:
        warnings.warn(
            f"no gradient flows through the while loop {loop.title!r}: it was created with back_prop=False",
            stacklevel=2,
        )
        return []
    # The plan: (1) find the loop variables through which a gradient can reach a wanted tensor, which is a fixed point,
    # since a variable may matter only by way of another one's next value; (2) count the iterations of the forward loop;
    # (3) run a loop that counts them down and carries one gradient for each such variable: the gradient with respect to
    # its value after an iteration becomes, by the derivative of the body, the gradient with respect to its value
    # before; (4) sum the gradients of captured values, each used in every iteration, over all iterations.
    graph = loop.graph
    # A copy: counting and saving add variables to the forward loop, which are not part of what is differentiated.
    variables = list(loop.variables)
    # The walk of the body must not leave it: loop variables as they arrive, and captured values, are where it ends.
    barrier = {variable.arrival for variable in variables} | set(loop._imported.values())
    carried, captured = _carried(variables, exit_grads, barrier, stops, loop)
    captured = [inner for inner in captured if is_needed(inner.op.inputs[0])]
    count = loop.count()
    backward = Backward(graph, graph.unique_name(name), loop)
    counter = backward.add_variable(bring(count, backward.outer), ())
    grads = {v: backward.add_variable(_first(v, exit_grads.get(v)), v.exit.dims) for v in carried}
    with backward.entered():
        condition = greater(counter.merge, 0)
    backward.set_condition(condition)
    with backward.entered():
        gradient_of = walk(
            [variable.next.op.inputs[0] for variable in carried],
            [*(variable.arrival for variable in carried), *captured],
            barrier | stops,
            [grads[variable].arrival for variable in carried],
            backward,
        )
        # Asked for inside of the loop, since the sum of partial gradients is added on the first request.
        following = [_following(variable, gradient_of(variable.arrival)) for variable in carried]
        less = counter.arrival - 1
    backward.close(counter, less)
    for variable, tensor in zip(carried, following):
        backward.close(grads[variable], tensor)
    result: list[tuple[Tensor, Any]] = []
    # After the loop is complete, since an accumulator is a further variable of it.
    for inner in captured:
        with backward.entered():
            grad = gradient_of(inner)
        if grad is not None:
            result.append((inner.op.inputs[0], _accumulated(backward, inner.op.inputs[0], grad)))
    for variable in carried:
        outer = variable.enter.op.inputs[0]
        if is_needed(outer):
            result.append((outer, grads[variable].exit))
    return result


def _carried(
    variables: Sequence[LoopVariable],
    exit_grads: dict[LoopVariable, Any],
    barrier: set[Tensor],
    stops: set[Tensor],
    loop: Loop,
) -> tuple[list[LoopVariable], list[Tensor]]:
    """Returns the variables that gradients flow through, and the captured outer values that they depend on."""
    by_arrival = {variable.arrival: variable for variable in variables}
    # The exits that have a gradient, then what their next values depend on, and so on until nothing is added.
    carried = [variable for variable in variables if exit_grads.get(variable) is not None]
    captured: dict[Tensor, None] = {}
    for variable in carried:  # grows during the iteration
        for tensor in _sources(variable.next.op.inputs[0], barrier, stops):
            source = by_arrival.get(tensor)
            if source is None:
                captured[tensor] = None
            elif source not in carried:
                carried.append(source)
    return [variable for variable in variables if variable in carried], list(captured)


def _sources(result: Tensor, barrier: set[Tensor], stops: set[Tensor]) -> Iterable[Tensor]:
    """Yields the loop variables and outer values that a body's result depends on through differentiable values."""
    # Stops and values without gradient cut the path, so that a counter is not carried as a gradient.
    seen: set[Tensor] = set()
    stack = [result]
    while stack:
        tensor = stack.pop()
        if tensor in seen or tensor in stops or not carries_gradient(tensor):
            continue
        seen.add(tensor)
        if tensor in barrier:
            yield tensor
        else:
            stack += tensor.op.inputs


def carries_gradient(tensor: Tensor) -> bool:
    dtype = tensor.dtype.base_dtype
    return dtype.is_floating or dtype.is_complex or dtype in (dtypes.resource, dtypes.variant)


def zeros_for(tensor: Tensor, grad: Tensor | None = None) -> Tensor:
    """Returns the gradient of a value without consumers: zeros, or an empty list for a list."""
    if tensor.dtype is dtypes.variant:
        return empty_list(dtypes.float32)
    if tensor.dtype is dtypes.resource:
        assert grad is not None
        return zeros(grad.dims if is_fully_defined(grad.dims) else variable_shape(tensor), grad.dtype)
    return zeros(tensor.dims, tensor.dtype) if is_fully_defined(tensor.dims) else zeros_like(tensor)


def _first(variable: LoopVariable, grad: Gradient | None) -> Tensor:
    return zeros_for(variable.exit) if grad is None else _dense(grad)


def _following(variable: LoopVariable, grad: Gradient | None) -> Tensor:
    return zeros_for(variable.arrival) if grad is None else _dense(grad)


def _dense(grad: Gradient) -> Tensor:
    return convert_to_tensor(grad)


def _accumulated(backward: Backward, outer: Tensor, grad: Gradient) -> Any:
    """Sums the gradient with respect to an outer value over all iterations."""
    if isinstance(grad, IndexedSlices):
        return _accumulated_slices(backward, outer, grad)
    with backward.left():
        nothing = zeros_for(outer, grad)
    dims = grad.dims if outer.dtype is dtypes.resource else outer.dims
    return backward.carry(nothing, dims, lambda a: add_n([a, grad]) if grad.dtype is dtypes.variant else a + grad).exit


def _accumulated_slices(backward: Backward, outer: Tensor, grad: IndexedSlices) -> IndexedSlices:
    shape = grad.values.dims
    # Sparse gradients of all iterations are concatenated, as `aggregate` does with those of one: a dense accumulator
    # would have the size of the whole table in each iteration.
    assert shape is not None, "rows of unknown rank"
    with backward.left():
        none = zeros([0, *shape[1:]], grad.values.dtype), zeros([0], grad.indices.dtype)
        dense = (
            None
            if grad.dense_shape is None
            else (variable_shape(outer) if outer.dtype is dtypes.resource else _shape_of(outer))
        )
    values = backward.carry(none[0], (None, *shape[1:]), lambda a: concat([a, grad.values], 0)).exit
    indices = backward.carry(none[1], (None,), lambda a: concat([a, grad.indices], 0)).exit
    return IndexedSlices(values, indices, dense)


def _shape_of(tensor: Tensor) -> Tensor:
    return shape(tensor)
