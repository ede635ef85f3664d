"""Pooling rewrites: moves pointwise ops after pooling, where there are fewer values, and reuses indices of maxima."""

from __future__ import annotations

from collections.abc import Callable

from thalweg._src.base import dtypes
from thalweg._src.compiler.optimize.match import ANY, Pattern, Uses, matches
from thalweg._src.graph.ir.rewrite import Rewrite
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph

_POOL = Pattern("MaxPool|_MaxPoolIndexed")
# The input of a monotonic node, and a function that rebuilds the node after a pool.
Peeled = tuple[Output, Callable[[Node], Node]] | None


def simplify_pooling(step: StepGraph) -> None:
    """Applies the pooling rewrites that save work on every device."""
    _keep_pooling_indices(step)
    _clip_before_pooling(step)
    _sum_before_scattering(step)
    _pool_before(step, _relu)


def pool_before_bias(step: StepGraph) -> None:
    """Turns `max_pool(x + bias)` into `max_pool(x) + bias`, for devices whose convolutions add no bias by themselves.

    Adding a bias is monotonic despite rounding, so the result is bitwise the same.
    """
    for region in step.regions():
        for graph in region.graphs():
            pool_before_bias(graph)
    _pool_before(step, _bias)


def _keep_pooling_indices(step: StepGraph) -> None:
    """Makes a MaxPool return the indices of its maxima if the step computes its gradient as well."""
    rewrite = Rewrite(step)
    for grad, pool in matches(step, Pattern("MaxPoolGrad", ANY, Pattern("MaxPool"))):
        if pool.dtypes[0] not in dtypes.FLOATING or grad.inputs[0] != pool.inputs[0]:
            continue
        # Both take the same x, so that the maxima are the same. The indices are a by-product of the forward kernel;
        # without them the gradient would search each window again.
        if pool not in rewrite.nodes:
            outputs = {"dtypes": [pool.dtypes[0], dtypes.int64], "shapes": [pool.shapes[0]] * 2}
            rewrite.replace(pool, pool.like("_MaxPoolIndexed", pool.inputs, pool.attrs, **outputs))
        inputs = [grad.inputs[0], Output(rewrite.nodes[pool], 1), grad.inputs[2]]
        rewrite.replace(grad, grad.like("_MaxPoolIndexedGrad", inputs, pool.attrs))
    rewrite.apply()


def _clip_before_pooling(step: StepGraph) -> None:
    """Clips the gradient of `max_pool(relu(x))` at the pooled size, where it is small.

    The pool's gradient is nonzero only at the maxima, so that masking by the pooled result or by the ReLU's output is
    the same; and the ReLU's output need not be kept until the backward pass.
    """
    uses, rewrite = Uses(step), Rewrite(step)
    for clip, scatter, pool in matches(step, Pattern("ReluGrad", Pattern("_MaxPoolIndexedGrad", ANY, _POOL))):
        clipped = scatter.inputs[0]
        is_relu = clipped.node.type == "Relu" or "Relu" in clipped.node.attrs.get("fused_ops", ())
        if not is_relu or clip.inputs[1] != clipped or not uses.only(scatter, clip):
            continue
        controls = list(dict.fromkeys([*clip.controls, *scatter.controls]))
        inputs = [scatter.inputs[2], Output(pool, 0)]
        pooled_clip = clip.like("ReluGrad", inputs, clip.attrs, shapes=[pool.shapes[0]], controls=controls)
        inputs = [*scatter.inputs[:2], Output(pooled_clip, 0)]
        rewrite.replace(clip, scatter.like(scatter.type, inputs, scatter.attrs))
    rewrite.apply()


def _sum_before_scattering(step: StepGraph) -> None:
    """Computes BiasAddGrad at pooled resolution, before the max-pool backward, which only scatters the same values."""
    rewrite = Rewrite(step)
    for total, scatter in matches(step, Pattern("BiasAddGrad", Pattern("_MaxPoolIndexedGrad"))):
        if _keeps_channels(scatter, total):
            rewrite.replace(total, total.like(total.type, [scatter.inputs[2]], total.attrs))
    rewrite.apply()


def _keeps_channels(pool: Node, bias: Node) -> bool:
    """Returns whether a pool does not pool over the channel dimension."""
    layout: str = pool.attrs["data_format"]
    return bool(layout == bias.attrs["data_format"] and pool.attrs["ksize"][layout.index("C")] == 1)


def _pool_before(step: StepGraph, peel: Callable[[Node, Node], Peeled]) -> None:
    """Moves a pool before a monotonic node, which then processes, say, a quarter of the values."""
    uses, rewrite = Uses(step), Rewrite(step)
    for (pool,) in matches(step, _POOL):
        # max(f(a), f(b)) = f(max(a, b)) if f never decreases. The node before the pool goes, so nothing else may need
        # its value.
        pooled = pool.inputs[0]
        if pooled in step.fetches or pooled.node in step.targets or pool.controls:
            continue
        # The pool's gradient op uses only the shape of the pool's input.
        if any(user is not pool and user.type != "_MaxPoolIndexedGrad" for user in uses.consumers[pooled.node]):
            continue
        peeled = peel(pooled.node, pool) if pool.dtypes[0] in dtypes.FLOATING else None
        if peeled is None:
            continue
        source, rebuild = peeled
        first = pool.like(pool.type, [source], pool.attrs, name=f"{pool.name}/_first")
        rewrite.replace(pool, first)  # the indices of the maxima, if it returns them
        rewrite.replace(pool, rebuild(first))
        rewrite.outputs[pooled] = source
        rewrite.nodes[pooled.node] = source.node
    rewrite.apply()


def _relu(node: Node, pool: Node) -> Peeled:
    """Strips a ReLU: a node of its own, or one fused into a convolution."""

    def again(first: Node) -> Node:
        return _after(pool, "Relu", [Output(first, 0)], {"T": pool.dtypes[0]})

    if node.type == "Relu" and not node.controls:
        return node.inputs[0], again
    fused_ops = node.attrs.get("fused_ops", ())
    if fused_ops[-1:] == ("Relu",):
        return Output(node.like(node.type, node.inputs, {**node.attrs, "fused_ops": fused_ops[:-1]}), 0), again
    return None


def _bias(node: Node, pool: Node) -> Peeled:
    """Strips a bias: a node of its own, or one fused into a convolution."""

    def again(first: Node) -> Node:
        attrs = {"T": pool.dtypes[0], "data_format": node.attrs["data_format"]}
        return _after(pool, "BiasAdd", [Output(first, 0), node.inputs[-1]], attrs)

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
