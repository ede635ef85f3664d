"""Clusters: pure nodes of a program that Inductor compiles into one call.

A cluster takes element-wise operations, reductions and rearrangements that no other node comes between; the program
then has one line for all of them, and the values in between are never written to memory. It is compiled when it is
first called, for the layouts that it is called with, and once more for a few others; after that, and where there is no
compiler, the single calls are made as before.
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from thalweg.execute.bind import Bound
from thalweg.graph.step_graph import Node, Output, StepGraph, waits
from thalweg.kernels.registry import STEP, Call, Input, inputs_of

_FUSED = {
    "Abs", "Add", "AddN", "AddV2", "BiasAdd", "BiasAddGrad", "Cast", "ConcatV2", "Cos", "Elu", "EluGrad", "Equal",
    "Erf", "Exp", "ExpandDims", "Expm1", "Greater", "GreaterEqual", "Inv", "IsFinite", "IsInf", "IsNan", "LeakyRelu",
    "Less", "LessEqual", "Log", "Log1p", "LogicalAnd", "LogicalNot", "LogicalOr", "Max", "Maximum", "Mean", "Min",
    "Minimum", "Mul", "Neg", "NotEqual", "OnesLike", "Pack", "RealDiv", "Reciprocal", "ReciprocalGrad", "Relu", "Relu6",
    "Relu6Grad", "ReluGrad", "Reshape", "Rsqrt", "RsqrtGrad", "Select", "SelectV2", "Selu", "SeluGrad", "Sigmoid",
    "SigmoidGrad", "Sign", "Sin", "Slice", "Softplus", "SoftplusGrad", "Softsign", "SoftsignGrad", "Split", "SplitV",
    "Sqrt", "SqrtGrad", "Square", "SquaredDifference", "Squeeze", "StridedSlice", "Sub", "Sum", "Tanh", "TanhGrad",
    "Transpose", "ZerosLike",
}  # fmt: skip
_FEWEST = 3  # nodes that are worth a cluster
_LAYOUTS = 4  # that a cluster is compiled for; a program with more of them changes too often
_log = logging.getLogger("thalweg")


def cluster(step: StepGraph, bound: Bound) -> None:
    """Puts clusters in the place of their nodes, in a program and in the loops of it."""
    for region in [node.attrs["region"] for node in step.nodes if node.type == "_While" and not waits(node)]:
        for part in region.parts():
            cluster(part, bound)
    replaced: dict[Output, Output] = {}
    moved: dict[Node, Node] = {}
    for members in _clusters(step.nodes, bound):
        made = _made(members, step, bound, replaced)
        moved.update(dict.fromkeys(members, made))
    if moved:
        step.rewrite(replaced, moved)


def _clusters(nodes: Sequence[Node], bound: Bound) -> list[list[Node]]:
    """Returns the groups of nodes that can run as one.

    A node's level is how often a path to it leaves what can be fused; nodes of one level have nothing between them.
    """
    level: dict[Node, int] = {}
    fused: dict[Node, bool] = {}
    groups: dict[int, list[Node]] = {}
    for node in nodes:
        fused[node] = _can_be_fused(node, bound)
        before = [p for p in node.predecessors() if p in level]
        level[node] = max((level[p] + (fused[p] and not fused[node]) for p in before), default=0)
        if fused[node]:
            groups.setdefault(level[node], []).append(node)
    return [members for members in groups.values() if len(members) >= _FEWEST]


def _can_be_fused(node: Node, bound: Bound) -> bool:
    call = bound.calls.get(node)
    if call is None or node.type not in _FUSED or node.guard or node.controls:
        return False
    types = [*node.dtypes, *(node.input_dtype(i) for i in range(len(node.inputs)))]
    return all(dtype.is_floating or dtype.is_bool or dtype.is_integer for dtype in types) and _is_of_torch(call)


def _is_of_torch(value: Any) -> bool:
    """Tells whether a call is one of torch, with all that it takes."""
    if isinstance(value, Call):
        module = getattr(value.function, "__module__", None) or type(value.function).__module__
        parts = [*value.args, *value.kwargs.values()]
        return module.partition(".")[0] in ("torch", "_operator") and all(_is_of_torch(part) for part in parts)
    return all(_is_of_torch(item) for item in value) if isinstance(value, list) else value is not STEP


def _made(members: list[Node], step: StepGraph, bound: Bound, replaced: dict[Output, Output]) -> Node:
    """Returns the node of a cluster, bound to its call."""
    inside = set(members)
    used = {output for node in step.nodes if node not in inside for output in node.inputs}
    used |= {predicate for node in step.nodes for predicate, _ in node.guard} | set(step.fetches)
    taken = dict.fromkeys(node.inputs[i] for node in members for i in inputs_of(bound.calls[node]))
    inputs = [output for output in taken if output[0] not in inside]
    outputs = [(node, i) for node in members for i in range(len(node.dtypes)) if (node, i) in used]
    types = [node.dtypes[i] for node, i in outputs]
    attrs = {"Tin": tuple(p.dtypes[i] for p, i in inputs), "Tout": tuple(types)}
    made = members[-1].like(
        "_Cluster",
        inputs,
        attrs,
        name=f"{members[-1].name}/_cluster_of_{len(members)}",
        dtypes=types,
        shapes=[node.shapes[i] for node, i in outputs],
        order=max(node.order for node in members),
    )
    replaced.update((output, (made, i)) for i, output in enumerate(outputs))
    function = Cluster(_lowered(members, inputs, outputs, bound), len(outputs))
    bound.calls[made] = Call(function, tuple(Input(i) for i in range(len(inputs))))
    return made


def _lowered(members: list[Node], inputs: list[Output], outputs: list[Output], bound: Bound) -> fx.GraphModule:
    """Returns the calls of a cluster as a graph of torch's."""
    graph = fx.Graph()
    values: dict[Output, Any] = {output: graph.placeholder(f"input_{i}") for i, output in enumerate(inputs)}

    def argument(node: Node, value: Any) -> Any:
        if isinstance(value, Input):
            return values[node.inputs[value]]
        if isinstance(value, Call):
            return call(node, value)
        return [argument(node, item) for item in value] if isinstance(value, list) else value

    def call(node: Node, bound_call: Call) -> Any:
        arguments = tuple(argument(node, value) for value in bound_call.args)
        named = {key: argument(node, value) for key, value in bound_call.kwargs.items()}
        return graph.call_function(bound_call.function, arguments, named)

    for node in members:
        result = call(node, bound.calls[node])
        if len(node.dtypes) == 1:
            values[node, 0] = result
        else:
            for i in range(len(node.dtypes)):
                values[node, i] = graph.call_function(operator.getitem, (result, i))
    graph.output([values[output] for output in outputs])
    return fx.GraphModule({}, graph)


class Cluster:
    """The function of a cluster: compiled for the layouts that it meets, plain where that fails."""

    __name__ = "cluster"

    def __init__(self, module: fx.GraphModule, num_outputs: int) -> None:
        self._module = module
        self._single = num_outputs == 1
        self._compiled: list[Callable[[list[Any]], Sequence[Any]]] = []
        self._plain: Callable[..., Any] = module.forward
        self._last: Callable[[list[Any]], Sequence[Any]] = self._none_yet

    def __call__(self, *values: Any) -> Any:
        try:
            results = self._last(list(values))
        except AssertionError:  # another layout than it was compiled for
            results = self._by_layout(values)
        return results[0] if self._single else results

    def _none_yet(self, values: list[Any]) -> Sequence[Any]:
        raise AssertionError

    def _by_layout(self, values: Sequence[Any]) -> Sequence[Any]:
        for compiled in self._compiled:
            try:
                results = compiled(list(values))
            except AssertionError:
                continue
            self._last = compiled
            return results
        if len(self._compiled) < _LAYOUTS:
            made = _compile(self._module, values) or self._interpreted
            self._compiled.append(made)
            self._last = made
            return made(list(values))
        self._last = self._interpreted
        return self._interpreted(list(values))

    def _interpreted(self, values: list[Any]) -> Sequence[Any]:
        results: Sequence[Any] = self._plain(*values)
        return results


def _compile(module: fx.GraphModule, values: Sequence[Any]) -> Callable[[list[Any]], Sequence[Any]] | None:
    """Returns a function compiled for values of this layout; None if that cannot be had."""
    try:
        from torch._inductor.compile_fx import compile_fx_inner
        from torch._inductor.decomposition import select_decomp_table
        from torch.fx.experimental.proxy_tensor import make_fx

        with torch.inference_mode(False), torch.no_grad():
            examples = [torch.empty_strided(v.shape, v.stride(), dtype=v.dtype, device=v.device) for v in values]
            traced = make_fx(module, decomposition_table=select_decomp_table(), tracing_mode="fake")(*examples)
            compiled: Any = compile_fx_inner(traced, examples)
        function: Callable[[list[Any]], Sequence[Any]] = getattr(compiled, "current_callable", None) or compiled
        return function
    except Exception as error:
        _log.warning("a cluster of %d operations runs uncompiled: %s", len(module.graph.nodes), error)
        return None
