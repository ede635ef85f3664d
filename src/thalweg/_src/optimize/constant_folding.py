"""Constant folding: evaluates at compile time what is the same in every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src import dtypes
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.shapes import num_elements

Evaluate = Callable[[Node], list[np.ndarray[Any, Any]] | None]

_LIMIT = 1 << 20  # elements; a larger constant costs more memory than it saves time


def fold(step: StepGraph, evaluate: Evaluate) -> None:
    """Replaces pure nodes whose inputs are constants, or whose value follows from static shapes, by constants."""
    replaced: dict[Output, Output] = {}
    moved: dict[Node, Node] = {}
    for node in step.nodes:
        node.inputs = [replaced.get(output, output) for output in node.inputs]
        values = _values(node, evaluate)
        if values is None:
            continue
        for index, value in enumerate(values):
            name = node.name if len(values) == 1 else f"{node.name}/{index}"
            attrs = {"value": value, "dtype": node.dtypes[index]}
            constant = node.like(
                "Const", [], attrs, name=name, dtypes=[node.dtypes[index]], shapes=[value.shape], controls=[]
            )
            replaced[node, index] = (constant, 0)
            moved.setdefault(node, constant)
    if replaced:
        step.rewrite(replaced, moved)


def _values(node: Node, evaluate: Evaluate) -> list[np.ndarray[Any, Any]] | None:
    definition = node.definition
    if definition.stateful or definition.waits or node.controls or not node.inputs or not node.dtypes:
        return None
    if definition.from_shapes:
        return _from_shapes(node)
    if any(producer.definition.name != "Const" or producer.controls for producer, _ in node.inputs):
        return None
    if any(dtype in (dtypes.resource, dtypes.variant) for dtype in node.dtypes) or not _is_small(node):
        return None
    return evaluate(node)


def _is_small(node: Node) -> bool:
    """Returns whether the outputs stay small; where their shapes are unknown, the inputs must be small."""
    for shape in node.shapes:
        if shape is None or None in shape:
            return all(producer.attrs["value"].size <= 64 for producer, _ in node.inputs)
        if (num_elements(shape) or 0) > _LIMIT:
            return False
    return True


def _from_shapes(node: Node) -> list[np.ndarray[Any, Any]] | None:
    """Evaluates Shape, Size, Rank and the like from the static shapes of their inputs."""
    evaluate = node.definition.from_shapes
    assert evaluate is not None
    shapes = [producer.shapes[index] for producer, index in node.inputs]
    if any(shape is None or None in shape for shape in shapes):
        return None
    values = evaluate(shapes)
    try:
        return [np.asarray(value, dtype=dtype.as_numpy_dtype) for value, dtype in zip(values, node.dtypes)]
    except OverflowError:
        return None  # the kernel reports the overflow when it runs
