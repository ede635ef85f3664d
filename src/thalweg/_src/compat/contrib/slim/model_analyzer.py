"""tf.contrib.slim.model_analyzer: sizes of the variables and operations of a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from thalweg._src.base.errors import require_kind, require_members
from thalweg._src.base.export import export
from thalweg._src.graph.graph import Graph

_RULE = "---------"


@export("contrib.slim.model_analyzer.tensor_description")
def tensor_description(var: Any) -> str:
    """Returns the type and shape of a tensor or variable, such as "(float32 5x5x32)".

    Args:
        var: The tensor or variable.
    """
    require_members("var", var, "a tensor or a variable", "dtype", "get_shape")
    return f"({var.dtype.name} {'x'.join(str(size) for size in var.get_shape().as_list())})"


@export("contrib.slim.model_analyzer.analyze_ops")
def analyze_ops(graph: Graph, print_info: bool = False) -> int:
    """Returns the number of elements of all outputs in a graph.

    Args:
        graph: The graph.
        print_info: Whether a line is printed for each operation.
    """
    require_kind("graph", graph, Graph, "a Graph")
    total = 0
    lines = [_RULE, "Operations: name -> (type shapes) [size]", _RULE]
    for op in graph.get_operations():
        sizes = [output.shape.num_elements() or 0 for output in op.outputs]
        total += sum(sizes)
        described = [_described(output, size) for output, size in zip(op.outputs, sizes)]
        lines.append(f"{op.name}\t-> {', '.join(described) or '()'}")
    if print_info:
        print("\n".join([*lines, _RULE, f"Total size: {total}"]))
    return total


def _described(tensor: Any, size: int) -> str:
    described = tensor_description(tensor) if tensor.shape.ndims is not None else f"({tensor.dtype.name} <unknown>)"
    return f"{described} [{size}]" if size else described


@export("contrib.slim.model_analyzer.analyze_vars")
def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """Returns the number of elements and of bytes of variables.

    Args:
        variables: The variables.
        print_info: Whether a line is printed for each variable.
    """
    total = total_bytes = 0
    lines = [_RULE, "Variables: name (type shape) [size]", _RULE]
    for variable in _partitions(variables):
        require_members("variables", variable, "variables", "dtype", "get_shape")
        size = variable.get_shape().num_elements() or 0
        size_in_bytes = size * variable.dtype.base_dtype.size
        total, total_bytes = total + size, total_bytes + size_in_bytes
        lines.append(f"{variable.name} {tensor_description(variable)} [{size}, bytes: {size_in_bytes}]")
    if print_info:
        print("\n".join([*lines, f"Total size of variables: {total}", f"Total bytes of variables: {total_bytes}"]))
    return total, total_bytes


def _partitions(variables: Iterable[Any]) -> Iterator[Any]:
    for variable in variables:
        yield from variable if hasattr(variable, "_get_variable_list") else [variable]
