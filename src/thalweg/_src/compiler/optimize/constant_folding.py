"""Constant folding: evaluates at compile time what is the same in every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import Shape, num_elements
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ir.rewrite import Rewrite
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph

Evaluate = Callable[[Node], list[np.ndarray[Any, Any]] | None]

_LIMIT = 1 << 20  # elements; a larger constant costs more memory than it saves time


def fold(step: StepGraph, evaluate: Evaluate) -> None:
    """Replaces pure nodes whose inputs are constants, or whose value follows from static shapes, by constants."""
    rewrite = Rewrite(step)
    for node in step.nodes:
        node.inputs = [rewrite.outputs.get(output, output) for output in node.inputs]
        values = _values(node, evaluate)
        if values is None:
            continue
        for index, value in enumerate(values):
            name = node.name if len(values) == 1 else f"{node.name}/{index}"
            attrs = {"value": value, "dtype": node.dtypes[index]}
            constant = node.like(
                "Const", [], attrs, name=name, dtypes=[node.dtypes[index]], shapes=[value.shape], controls=[]
            )
            rewrite.outputs[Output(node, index)] = Output(constant, 0)
            rewrite.nodes.setdefault(node, constant)
    rewrite.apply()


def _values(node: Node, evaluate: Evaluate) -> list[np.ndarray[Any, Any]] | None:
    definition = node.definition
    if definition.stateful or definition.waits or definition.facts.external:
        return None
    if node.controls or not node.inputs or not node.dtypes:
        return None
    if definition.from_shapes:
        return _from_shapes(node)
    # A constant that waits for others must not vanish, since what it waits for would not run. Handles and variants are
    # objects of the step and have no value at compile time.
    if any(producer.definition.name != "Const" or producer.controls for producer, _ in node.inputs):
        return None
    if any(dtype in (dtypes.resource, dtypes.variant) for dtype in node.dtypes) or not _is_small(node):
        return None
    return evaluate(node)


@dataclass(slots=True)
class _Constant:
    """An input of a shape function whose value is known."""

    dims: Shape
    dtype: DType
    static_value: np.ndarray[Any, Any]


def _is_small(node: Node) -> bool:
    """Returns whether inputs and outputs stay small; outputs whose sizes do not follow from the inputs do not."""
    values = [producer.attrs["value"] for producer, _ in node.inputs]
    if any(value.size > _LIMIT for value in values):
        return False
    shapes: Sequence[Shape] = node.shapes
    if any(shape is None or None in shape for shape in shapes):
        sources = [_Constant(value.shape, node.input_dtype(i), value) for i, value in enumerate(values)]
        try:
            shapes = node.definition.infer(Inference(node.definition, node.attrs, sources, len(node.dtypes)))
        except Exception:
            return False  # the step reports it, if it ever runs the node
    counts = [num_elements(shape) for shape in shapes]
    return all(count is not None and count <= _LIMIT for count in counts)


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
