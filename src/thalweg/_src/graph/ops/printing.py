"""Printing and assertion ops."""

from __future__ import annotations

import pprint
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.errors import invalid, require_text
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.declarations import nondifferentiable_op, stateful_op
from thalweg._src.graph.ops.shape_functions import require, unchanged
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

print_op = op(
    "Print",
    "input: T, data: list(U) -> output: T",
    T=attr.types(),
    U=attr.type_list(0),
    message="",
    first_n=-1,
    summarize=3,
    stateful=True,
    infer=unchanged,
    doc="Returns its input after printing the data to standard error.",
)


def _one_string(c: Inference) -> list[Any]:
    require(not c.shapes[0], f"input must be a scalar, got {c.shapes[0]}", expected="one string to print")
    return []


def _condition(c: Inference) -> list[Any]:
    require(not c.shapes[0], f"condition must be a scalar, got {c.shapes[0]}", hint="use tf.reduce_all on it")
    return []


def _written(attrs: Mapping[str, Any]) -> str:
    """Returns what PrintV2 reaches outside of the graph."""
    return "writes files" if str(attrs.get("output_stream")).startswith("file:") else ""


print_v2_op = stateful_op(
    "PrintV2",
    "input: string ->",
    "Prints a string.",
    output_stream="stderr",
    end="\n",
    infer=_one_string,
    external=_written,
)


def _formatted(c: Inference) -> Sequence[Shape]:
    count = c.attrs["template"].count(c.attrs["placeholder"])
    require(
        count == len(c.shapes), f"the template has {count} placeholders", expected=f"{len(c.shapes)}, one per input"
    )
    return [()]


string_format_op = nondifferentiable_op(
    "StringFormat",
    "inputs: list(T) -> output: string",
    "Formats tensors into the placeholders of a template.",
    T=attr.type_list(0),
    template="%s",
    placeholder="%s",
    summarize=3,
    infer=_formatted,
)
assert_op = stateful_op(
    "Assert",
    "condition: bool, data: list(T) ->",
    "Fails the step with the data in the error, unless the condition holds.",
    T=attr.type_list(1),
    summarize=3,
    infer=_condition,
)


@export("Print")
def Print(
    input_: TensorLike,
    data: Sequence[TensorLike],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns input_ unchanged; the data are printed whenever it is computed, at most first_n times.

    Args:
        data: Tensors to print.
        message: Text to print first.
        first_n: How often it prints at most; None or a negative number sets no limit.
    """
    return print_op(
        input_,
        list(data),
        message=message or "",
        first_n=-1 if first_n is None else first_n,
        summarize=3 if summarize is None else summarize,
        name=name,
    )


@export("Assert", "debugging.Assert")
def Assert(
    condition: TensorLike, data: Sequence[TensorLike], summarize: int | None = None, name: str | None = None
) -> Operation:
    """Returns an operation that fails the step with InvalidArgumentError unless the condition holds.

    Args:
        condition: Boolean tensor; the step fails unless all of it is true.
        data: Tensors that are printed with the error.
    """
    if executing_eagerly():
        if not condition:
            shown = "\n".join(_summary(convert_to_tensor(item), summarize) for item in data)
            raise invalid(f"Expected '{condition!s}' to be true. Summarized data: {shown}")
        return None  # type: ignore[return-value]
    return assert_op.operation(condition, list(data), summarize=3 if summarize is None else summarize, name=name)


def _summary(tensor: Any, summarize: int | None) -> str:
    """Returns the first elements of an eager tensor; a negative number selects all."""
    flat = np.ravel(tensor.numpy())
    count = 3 if summarize is None else len(flat) if summarize < 0 else summarize
    return ", ".join([*map(str, flat[:count]), *(["..."] if len(flat) > count else [])])


@export("strings.format")
def string_format(
    template: str, inputs: TensorLike, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """Formats tensors into the placeholders of a template.

    Args:
        template: The text with placeholders.
        inputs: The tensors, one for each placeholder.
        placeholder: The string that is replaced.
    """
    tensors = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    require_text("template", template)
    require_text("placeholder", placeholder)
    count = template.count(placeholder)
    if count != len(tensors):
        raise ValueError(f"the template has {count} placeholder(s) for {len(tensors)} tensor(s)")
    return string_format_op(tensors, template=template, placeholder=placeholder, summarize=summarize, name=name)


@export("print")
def print_v2(
    *inputs: object,
    output_stream: Any = None,
    summarize: int = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> Operation:
    """Returns an operation that prints Python values and tensors, in any nesting of lists and dictionaries.

    Args:
        *inputs: Python values and tensors to print.
        output_stream: Where to print: `sys.stdout`, `sys.stderr`, a logging function, or a file URL.
        sep: String put between the inputs.
        end: String put after the last input.
    """
    require_text("sep", sep)
    stream = _stream_name(sys.stderr if output_stream is None else output_stream)
    with name_scope(name, "print") as scope:
        text = _as_text(inputs, summarize, sep)
        return print_v2_op.operation(text, output_stream=stream, end=end, name=scope)


def _as_text(inputs: tuple[Any, ...], summarize: int, sep: str) -> Tensor:
    first = inputs[0] if len(inputs) == 1 else None
    if isinstance(first, Tensor) and first.dtype is dtypes.string and first.dims == ():
        return first
    tensors: list[Tensor] = []
    placeholder = "{}"
    while placeholder in repr(inputs):
        placeholder = f"{{{placeholder}}}"
    texts = []
    for value in inputs:
        holed = _with_holes(value, placeholder, tensors)
        text = value if isinstance(value, str) else pprint.pformat(holed)
        texts.append(text.replace(f"'{placeholder}'", placeholder))
    if not tensors:
        return convert_to_tensor(sep.join(texts))
    return string_format(sep.join(texts), tensors, placeholder, summarize)


def _with_holes(value: object, placeholder: str, tensors: list[Tensor]) -> Any:
    """Returns the value with placeholders for its tensors, which are collected in order."""
    if isinstance(value, list):
        return [_with_holes(item, placeholder, tensors) for item in value]
    if isinstance(value, tuple):
        items = [_with_holes(item, placeholder, tensors) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, dict):  # sorted, as in pprint
        return {key: _with_holes(value[key], placeholder, tensors) for key in sorted(value)}
    if isinstance(value, Tensor) or hasattr(value, "_as_graph_element"):
        tensors.append(convert_to_tensor(value))
        return placeholder
    return value


def _stream_name(stream: object) -> str:
    if stream is sys.stdout or stream is sys.stderr:
        return "stdout" if stream is sys.stdout else "stderr"
    if isinstance(stream, str) and (stream in ("stdout", "stderr") or stream.startswith("file://")):
        return stream
    raise ValueError(f"Unsupported output stream {stream!r}: use sys.stdout, sys.stderr or 'file://path'")


print = print_v2
