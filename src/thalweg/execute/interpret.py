"""Interpret: a segment run call by call, with the values that its function would give.

For steps that are observed, and for the first step of a large program, which may be the only one.
"""

from __future__ import annotations

import time
from collections import Counter
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
    observe: Observe | None,
    device: str,
) -> list[Any]:
    """Runs the nodes of a segment one by one and reports each with its start and end in nanoseconds."""
    values: dict[Output, Any] = {**constants, **dict(zip(segment.inputs, inputs))}
    uses = Counter(output for node in segment.nodes for output in node.inputs)
    uses.update(segment.outputs)
    for node in segment.nodes:
        call = calls.get(node)
        if call is None:
            continue
        if step.cancelled:
            step.stop()
        seen = [values[output] for output in node.inputs]
        for output in node.inputs:
            uses[output] -= 1
            if not uses[output]:
                values.pop(output, None)
        start = time.time_ns() if observe else 0
        try:
            result = invoke(call, seen, step)
        except Exception as error:
            raise explain(error, node, seen, device) from None
        if observe:
            observe(node, start, time.time_ns())
        for index, value in enumerate((result,) if len(node.dtypes) == 1 else result or ()):
            if uses[node, index]:
                values[node, index] = value
        del seen, result
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
