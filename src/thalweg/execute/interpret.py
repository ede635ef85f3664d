"""Interpret: a segment run call by call, for steps that are observed; the values are those of the generated code."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from thalweg.execute.failure import explain
from thalweg.execute.segment import Segment
from thalweg.graph.step_graph import Node, Output
from thalweg.kernels.registry import STEP, Call, Input

Observe = Callable[[Node, int, int], None]


def interpret(
    segment: Segment,
    calls: dict[Node, Call],
    constants: dict[Output, Any],
    step: Any,
    inputs: Sequence[Any],
    observe: Observe,
    device: str,
) -> list[Any]:
    """Runs the nodes of a segment one by one and reports each with its start and end in nanoseconds."""
    values: dict[Output, Any] = {**constants, **dict(zip(segment.inputs, inputs))}
    for node in segment.nodes:
        call = calls.get(node)
        if call is None:
            continue
        if step.cancelled:
            step.stop()
        seen = [values[output] for output in node.inputs]
        start = time.time_ns()
        try:
            result = invoke(call, seen, step)
        except Exception as error:
            raise explain(error, node, seen, device) from None
        observe(node, start, time.time_ns())
        results = (result,) if len(node.dtypes) == 1 else result or ()
        values.update(((node, index), value) for index, value in enumerate(results))
    return [values[output] for output in segment.outputs]


def invoke(call: Call, inputs: Sequence[Any], step: Any = None) -> Any:
    """Makes one call of a bound kernel on the values of its node's inputs."""
    arguments = [_argument(value, inputs, step) for value in call.args]
    return call.function(*arguments, **{key: _argument(value, inputs, step) for key, value in call.kwargs.items()})


def _argument(value: Any, inputs: Sequence[Any], step: Any) -> Any:
    if isinstance(value, Input):
        return inputs[value]
    if isinstance(value, Call):
        return invoke(value, inputs, step)
    if value is STEP:
        return step
    return [_argument(item, inputs, step) for item in value] if isinstance(value, list) else value
