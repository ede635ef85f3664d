"""Shape error messages: with the node, its inputs and the user's source line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import errors
from thalweg._src.graph.ir.step_graph import SHOWN
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.source_line import made_at


def explain_shape_error(
    error: errors.ShapeError, operation: Any, received: Sequence[tuple[str, str, str]], where: str = ""
) -> str:
    """Returns the message of a shape error with the node, its inputs and the user's source line.

    where: the device, in a step
    """
    # While a graph is built the sentence is TensorFlow's of shape inference, in a step that of the kernel: programs and
    # tests match both.
    kind, shapes = operation.definition.name, [shape.replace(" ", "") for _, _, shape in received]
    what = f"{error.what} for '{operation.name}' (op: '{kind}') with input shapes: {', '.join(shapes)}."
    if where:
        what = failed_at(operation, where, error.in_step.format(*shapes) if error.in_step else error.what)
    return errors.describe(
        what,
        expected=error.expected,
        received=received_text(operation.definition, received),
        hint=error.hint,
        made_at=made_at(operation.stack),
    )


def failed_at(operation: Any, where: str, sentence: str) -> str:
    """Returns the first line of an error in a step; of eager execution, which has no names of operations, as there."""
    name = operation.attrs.get(SHOWN, operation.name)
    return f"{operation.type} '{name}'{where}: {sentence}" if name else f"{sentence} [Op:{operation.type}]"


def received_text(definition: OpDef, received: Sequence[tuple[str, str, str]]) -> str | None:
    """Returns a list of the inputs, each with its argument, name, type and shape; None without inputs."""
    inputs = [
        f"{arg} = {repr(name) + ' ' if name else ''}{dtype}{shape}"
        for arg, (name, dtype, shape) in zip(argument_names(definition, len(received)), received)
    ]
    return ", ".join(inputs) or None


def argument_names(definition: OpDef, count: int) -> list[str]:
    """Returns the names of the inputs in order, indexed where an argument is a list."""
    if definition.plain_inputs:
        return [arg.name for arg in definition.inputs]
    # All lists of an op have one length, N, so that the count of the inputs determines it.
    lists = [arg for arg in definition.inputs if arg.is_list]
    length = (count - (len(definition.inputs) - len(lists))) // len(lists)
    names: list[str] = []
    for arg in definition.inputs:
        names += [f"{arg.name}[{i}]" for i in range(length)] if arg.is_list else [arg.name]
    return names
