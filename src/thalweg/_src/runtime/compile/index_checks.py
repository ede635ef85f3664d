"""Index checks: inputs of a compiled cluster whose elements are used as indices, and the sizes that these must respect.

A compiled loop checks an index too, but the exception leaves a thread of OpenMP, which ends the process. So the inputs
are checked before the call. The check may refuse more than the loop: what is refused runs uncompiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

# The position of the indexed tensor is 0 in all of them; that of the dimension, and that of the index.
_BY_DIMENSION = ("gather", "index_select", "scatter", "scatter_add", "scatter_reduce", "index_add", "index_copy")
_BY_LIST = ("index", "index_put")
_SAME_ELEMENTS = (
    "_to_copy",
    "_unsafe_view",
    "alias",
    "clamp_max",
    "clamp_min",
    "clone",
    "convert_element_type",
    "expand",
    "permute",
    "reshape",
    "select",
    "slice",
    "squeeze",
    "unsqueeze",
    "view",
)
_MAX_POOL = "_low_memory_max_pool_offsets_to_indices"
_IN_RANGE = (
    _MAX_POOL,
    "arange",
    "argmax",
    "argmin",
    "full",
    "iota",
    "max_pool2d_with_indices",
    "scalar_tensor",
    "zeros",
)

Checks = list[tuple[int, int]]  # the number of an input, and the size that its elements must be less than


def index_checks(graph: GraphModule) -> Checks | None:
    """Returns the checks that a traced cluster needs; None if it computes indices that may be wrong."""
    inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
    smallest: dict[int, int] = {}
    for node in graph.graph.nodes:
        for index, size in _indices(node):
            sources = _sources(index)
            if sources is None:
                return None
            for source in sources:
                number = inputs.index(source)
                smallest[number] = min(size, smallest.get(number, size))
    return sorted(smallest.items())


def clamp_pool_indices(graph: GraphModule) -> None:
    """Keeps the indices of max-pooling inside its input: Inductor's are in the padding where all elements are -inf.

    The graph is not decomposed any more, and Inductor has no lowering for aten.clamp itself.
    """
    aten = torch.ops.aten
    for node in list(graph.graph.nodes):
        if _name(node) == _MAX_POOL:
            last = math.prod(node.args[2]) - 1
            for function, bound in ((aten.clamp_max.default, last), (aten.clamp_min.default, 0)):
                with graph.graph.inserting_after(node):
                    clamped = graph.graph.call_function(function, (node, bound))
                clamped.meta.update(node.meta)
                node.replace_all_uses_with(clamped, lambda user, clamped=clamped: user is not clamped)
    graph.recompile()


def _name(node: Node) -> str:
    """Returns the name of an operation without its namespace and overload."""
    return str(node.target).partition(".")[2].partition(".")[0] if node.op == "call_function" else ""


def _indices(node: Node) -> Iterator[tuple[Node, int]]:
    """Yields the tensors that a node uses as indices, and the sizes of the dimensions that they choose from."""
    name, arguments = _name(node), node.args
    if name in _BY_DIMENSION:
        dimension: Any = arguments[1]
        yield arguments[2], _shape(arguments[0])[dimension] if _shape(arguments[0]) else 1  # type: ignore[misc]
    elif name in _BY_LIST:
        chosen: Any = arguments[1]
        for dimension, index in enumerate(chosen):
            if index is not None and index.meta["val"].dtype is not torch.bool:
                yield index, _shape(arguments[0])[dimension]
    elif name == "embedding":
        yield arguments[1], _shape(arguments[0])[0]  # type: ignore[misc]


def _shape(value: Any) -> Sequence[int]:
    shape: Sequence[int] = value.meta["val"].shape
    return shape


def _sources(node: object) -> set[Node] | None:
    """Returns the inputs whose elements a value has; None if it may have others that are out of range."""
    if not isinstance(node, Node) or node.op == "get_attr":
        return set()
    if node.op == "placeholder":
        return {node}
    # A conservative analysis: an index comes from inputs, through ops that only move or bound elements, or from ops
    # whose results are always in range. An op that is not listed may compute any number: then the cluster gets no
    # checks but runs on one thread, where the check of its own loop can raise.
    name = _name(node) or str(node.target)
    if "getitem" in name or name in _SAME_ELEMENTS:
        return _sources(node.args[0])
    if name == "where":
        branches = [_sources(branch) for branch in node.args[1:]]
        return None if None in branches else set().union(*filter(None, branches))
    return set() if name in _IN_RANGE else None


def checked(library: Callable[[list[Any]], Any], checks: Checks) -> Callable[[list[Any]], Any]:
    """Returns a library that is called only with indices in range."""
    if not checks:
        return library

    def run(values: list[Any]) -> Any:
        for number, size in checks:
            if values[number].numel():
                low, high = torch.aminmax(values[number])
                if low < 0 or high >= size:
                    raise IndexError(f"an index is not in [0, {size})")
        return library(values)

    return run
