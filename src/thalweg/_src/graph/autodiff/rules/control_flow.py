"""Gradients of conditionals."""

from __future__ import annotations

from typing import Any, NoReturn

from thalweg._src.base import dtypes
from thalweg._src.graph.autodiff.loops import gradient_context, zeros_for
from thalweg._src.graph.autodiff.registry import Gradient, gradient
from thalweg._src.graph.control_flow.context import Branch, Context, bring, context_of, encloses
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.control_flow import merge_op, switch_op
from thalweg._src.graph.ops.reshape import shape, zeros, zeros_like
from thalweg._src.graph.ops.state import variable_shape
from thalweg._src.graph.tensor import Tensor


@gradient("Switch", "RefSwitch")
def switch_gradient(op: Operation, if_false: Any, if_true: Any) -> Any:
    """Passes on the gradient of the branch that is taken; the other one does not use the value."""
    data = op.inputs[0]
    here: Any = op.graph.scopes.context
    if not isinstance(context_of(op), Branch) or not isinstance(here, Branch):
        sides = [zeros_like(op.outputs[i]) if g is None else g for i, g in enumerate((if_false, if_true))]
        return merge_op.many(sides)[0], None
    grad = if_true if here.side else if_false
    return _merged(here, grad, data), None


def _merged(branch: Branch, grad: Gradient, data: Tensor) -> Any:
    graph = branch.graph
    if isinstance(grad, IndexedSlices):
        with branch.left():
            dense = variable_shape(data) if data.dtype is dtypes.resource else shape(data)
        row = grad.values.dims
        assert row is not None, "rows of unknown rank"
        with branch.sibling.entered():
            nothing = zeros([0, *row[1:]], grad.values.dtype), zeros([0], grad.indices.dtype)
        values, indices = (_merge(branch, value, other) for value, other in zip((grad.values, grad.indices), nothing))
        return IndexedSlices(values, indices, dense)
    with graph.control_flow(branch.sibling):
        nothing_at_all = zeros_for(data, grad)
    return _merge(branch, grad, nothing_at_all)


def _merge(branch: Branch, value: Tensor, other: Tensor) -> Tensor:
    sides = {branch.side: bring(value, branch), not branch.side: bring(other, branch.sibling)}
    with branch.left():
        return merge_op.many([sides[False], sides[True]])[0]  # type: ignore[no-any-return]


@gradient("Merge", "RefMerge")
def merge_gradient(op: Operation, grad: Gradient, _: object) -> list[Any]:
    """Routes the gradient into the branch that the value came from."""
    branches = [context_of(tensor) for tensor in op.inputs]
    if not all(isinstance(branch, Branch) for branch in branches):
        return [switch_op.many(grad, equal(op.outputs[1], i))[1] for i in range(len(branches))]
    return [_sent(grad, gradient_context(op.graph, branch)) for branch in branches]


def _sent(grad: Gradient, branch: Context | None) -> Any:
    if not isinstance(grad, IndexedSlices):
        return bring(grad, branch)
    dense = None if grad.dense_shape is None else bring(grad.dense_shape, branch)
    return IndexedSlices(bring(grad.values, branch), bring(grad.indices, branch), dense)


@gradient("Enter", "RefEnter")
def enter_gradient(op: Operation, grad: Gradient) -> Any:
    """Passes on the gradient with respect to an outer value that is requested inside the loop."""
    here: Any = op.graph.scopes.context
    if op.attrs["is_constant"] and op.context is not None and encloses(context_of(op), here):
        return grad
    return loop_gradient(op, grad)


@gradient("Exit", "NextIteration", "RefExit", "RefNextIteration")
def loop_gradient(op: Operation, _: object) -> NoReturn:
    raise LookupError(f"{op.name!r} is part of a hand-made loop; only loops of tf.while_loop have gradients.")
