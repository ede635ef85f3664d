"""Pooling rewrites: moves pointwise ops after pooling, where there are fewer values, and reuses indices of maxima."""

from __future__ import annotations

from collections.abc import Callable

from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph

# The input of a monotonic node, and a function that rebuilds the node after a pool.
Peeled = tuple[Output, Callable[[Node], Node]] | None


def simplify_pooling(step: StepGraph) -> None:
    """Applies the pooling rewrites that save work on every device."""
    _keep_pooling_indices(step)
    _clip_before_pooling(step)
    _sum_before_spreading(step)
    _pool_before(step, _relu)


def pool_before_bias(step: StepGraph) -> None:
    """Turns `max_pool(x + bias)` into `max_pool(x) + bias`, for devices whose convolutions add no bias by themselves.

    Adding a bias is monotonic despite rounding, so the result is bitwise the same.
    """
    for region in step.regions():
        for part in region.parts():
            pool_before_bias(part)
    _pool_before(step, _bias)


def _keep_pooling_indices(step: StepGraph) -> None:
    """Makes a MaxPool return the indices of its maxima if the step computes its gradient as well."""
    pools = {
        Output(node, 0): node for node in step.nodes if node.type == "MaxPool" and node.dtypes[0] in dtypes.FLOATING
    }
    grads = [n for n in step.nodes if n.type == "MaxPoolGrad" and n.inputs[1] in pools]
    indexed: dict[Node, Node] = {}
    replaced: dict[Output, Output] = {}
    moved: dict[Node, Node] = {}
    for grad in grads:
        pool = pools[grad.inputs[1]]
        if grad.inputs[0] != pool.inputs[0]:
            continue
        if pool not in indexed:
            shape = pool.shapes[0]
            indexed[pool] = pool.like(
                "_MaxPoolIndexed",
                pool.inputs,
                pool.attrs,
                dtypes=[pool.dtypes[0], dtypes.int64],
                shapes=[shape, shape],
            )
            replaced[Output(pool, 0)] = Output(indexed[pool], 0)
            moved[pool] = indexed[pool]
        made = grad.like("_MaxPoolIndexedGrad", [grad.inputs[0], Output(indexed[pool], 1), grad.inputs[2]], pool.attrs)
        replaced[Output(grad, 0)] = Output(made, 0)
        moved[grad] = made
    if replaced:
        step.rewrite(replaced, moved)


def _clip_before_pooling(step: StepGraph) -> None:
    """Clips the gradient of `max_pool(relu(x))` at the pooled size, where it is small.

    The pool's gradient is nonzero only at the maxima, so that masking by the pooled result or by the ReLU's output is
    the same; and the ReLU's output need not be kept until the backward pass.
    """
    consumers = step.consumers()
    replaced: dict[Output, Output] = {}
    moved: dict[Node, Node] = {}
    for node in step.nodes:
        spread, position = node.inputs[0] if node.type == "ReluGrad" else (None, 0)
        if spread is None or spread.type != "_MaxPoolIndexedGrad" or node.inputs[1] != spread.inputs[0]:
            continue
        clipped = spread.inputs[0].node
        is_relu = clipped.type == "Relu" or "Relu" in clipped.attrs.get("fused_ops", ())
        if not is_relu or consumers[spread] != [node] or Output(spread, position) in step.fetches:
            continue
        pool = spread.inputs[1].node
        shape = pool.shapes[0]
        waits = list(dict.fromkeys([*node.controls, *spread.controls]))
        clip = node.like("ReluGrad", [spread.inputs[2], Output(pool, 0)], node.attrs, shapes=[shape], controls=waits)
        made = spread.like(spread.type, [*spread.inputs[:2], Output(clip, 0)], spread.attrs)
        replaced[Output(node, 0)] = Output(made, 0)
        moved[node] = made
    if replaced:
        step.rewrite(replaced, moved)


def _sum_before_spreading(step: StepGraph) -> None:
    """Computes BiasAddGrad at pooled resolution, before the max-pool backward, which only scatters the same values."""
    made = {
        node: node.like(node.type, [node.inputs[0].node.inputs[2]], node.attrs)
        for node in step.nodes
        if node.type == "BiasAddGrad"
        and node.inputs[0].node.type == "_MaxPoolIndexedGrad"
        and _keeps_channels(node.inputs[0].node, node)
    }
    if made:
        step.rewrite({Output(node, 0): Output(sum, 0) for node, sum in made.items()}, made)


def _keeps_channels(pool: Node, bias: Node) -> bool:
    """Returns whether a pool does not pool over the channel dimension."""
    layout: str = pool.attrs["data_format"]
    return bool(layout == bias.attrs["data_format"] and pool.attrs["ksize"][layout.index("C")] == 1)


def _pool_before(step: StepGraph, peel: Callable[[Node, Node], Peeled]) -> None:
    """Moves a pool before a monotonic node, which then processes, say, a quarter of the values."""
    consumers = step.consumers()
    replaced: dict[Output, Output] = {}
    moved: dict[Node, Node] = {}
    for pool in step.nodes:
        before, index = pool.inputs[0] if pool.type in ("MaxPool", "_MaxPoolIndexed") else (None, 0)
        if before is None or Output(before, index) in step.fetches or before in step.targets or pool.controls:
            continue
        # The pool's gradient op uses only the shape of the pool's input.
        if any(user is not pool and user.type != "_MaxPoolIndexedGrad" for user in consumers[before]):
            continue
        peeled = peel(before, pool) if pool.dtypes[0] in dtypes.FLOATING else None
        if peeled is None:
            continue
        source, again = peeled
        made = pool.like(pool.type, [source], pool.attrs, name=f"{pool.name}/_first")
        last = again(made)
        replaced[Output(pool, 0)] = Output(last, 0)
        replaced.update((Output(pool, i), Output(made, i)) for i in range(1, len(pool.dtypes)))
        replaced[Output(before, index)] = source
        moved.update({pool: last, before: source.node})
    if replaced:
        step.rewrite(replaced, moved)


def _relu(node: Node, pool: Node) -> Peeled:
    """Strips a ReLU: a node of its own, or one fused into a convolution."""

    def again(made: Node) -> Node:
        return _after(pool, "Relu", [Output(made, 0)], {"T": pool.dtypes[0]})

    if node.type == "Relu" and not node.controls:
        return node.inputs[0], again
    fused_ops = node.attrs.get("fused_ops", ())
    if fused_ops[-1:] == ("Relu",):
        return Output(node.like(node.type, node.inputs, {**node.attrs, "fused_ops": fused_ops[:-1]}), 0), again
    return None


def _bias(node: Node, pool: Node) -> Peeled:
    """Strips a bias: a node of its own, or one fused into a convolution."""

    def again(made: Node) -> Node:
        attrs = {"T": pool.dtypes[0], "data_format": node.attrs["data_format"]}
        return _after(pool, "BiasAdd", [Output(made, 0), node.inputs[-1]], attrs)

    if node.type not in ("BiasAdd", "_FusedConv2D") or not _keeps_channels(pool, node):
        return None
    if node.type == "BiasAdd" and not node.controls:
        return node.inputs[0], again
    if node.type == "_FusedConv2D" and node.attrs["fused_ops"] == ("BiasAdd",):
        attrs = {name: node.attrs[name] for name in node.attrs if name not in _OF_FUSED}
        return Output(node.like("Conv2D", node.inputs[:2], attrs), 0), again
    return None


_OF_FUSED = ("num_args", "fused_ops", "epsilon", "TArgs", "num_host_args")


def _after(pool: Node, op_type: str, inputs: list[Output], attrs: dict[str, object]) -> Node:
    return pool.like(op_type, inputs, attrs, dtypes=pool.dtypes[:1], shapes=pool.shapes[:1], controls=[])
