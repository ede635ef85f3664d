"""Error reporting: from an exception in a kernel to a typed error that names node, inputs and the user's line."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import torch

from thalweg._src import dtypes, errors
from thalweg._src.dtypes import DType
from thalweg._src.graph.explain import argument_names, explain_shape_error
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.graph.source_line import made_at
from thalweg._src.kernels.types import TORCH
from thalweg._src.shapes import show

UNTAKEN_BRANCH = "the value fetched belongs to a branch that was not taken"
LOCAL_TASK = "/job:localhost/replica:0/task:0"  # says nothing in a process of its own
_TOLD = 5  # tensors that an error names
_NAMES: dict[torch.dtype, str] = {torch_type: dtype.name for dtype, torch_type in reversed(TORCH.items())}


class _Seen:
    """An input as the failed kernel saw it, in the form that shape functions ask for."""

    __slots__ = ("dims", "dtype", "static_value")

    def __init__(self, value: Any, dtype: DType) -> None:
        self.dtype = dtype
        shape = getattr(value, "shape", None)
        self.dims = None if shape is None else tuple(shape)
        small = isinstance(value, torch.Tensor) and value.device.type == "cpu" and value.numel() <= 64
        self.static_value = value.numpy() if small and not value.dtype.is_floating_point else None


def in_iteration(place: str, iteration: int | None) -> str:
    """Returns a place of failure that says in which iteration of a loop it was."""
    return place if iteration is None else f"{place} in iteration {iteration}"


def explain(
    error: BaseException, node: Node, values: Sequence[Any] | None, device: str, live: dict[Output, Any] | None = None
) -> BaseException:
    """Returns the typed error for what a kernel raised; errors that are typed already get the place added.

    device: its name, followed by the iteration of a loop where it happened.
    live: the values that the step held then
    """
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return error
    place = f" on {device.removeprefix(LOCAL_TASK)}" if device else ""
    if values is not None and not isinstance(error, errors.OpError):
        found = shape_error(node, values)
        if found is not None:
            error = found
        elif isinstance(error, AttributeError | TypeError):
            error = _no_kernel(node) or error
    received = _received(node, values)
    if isinstance(error, errors.ShapeError):
        return errors.InvalidArgumentError(node, node, explain_shape_error(error, node, received, place))
    if isinstance(error, errors.OpError):
        if error.op is None:
            text = f"{node.type} '{node.name}'{place}: {error.message}"
            kind: Any = type(error)
            placed: BaseException = kind(node, node, _with_line(text, node))
            return placed
        return error
    kind = _class_of(error)
    text = errors.describe(
        f"{node.type} '{node.name}'{place}: {_first_sentence(error)}",
        received=", ".join(
            f"{arg} = {name!r} {dtype}{shape}"
            for arg, (name, dtype, shape) in zip(argument_names(node.definition, len(received)), received)
        )
        or None,
        hint=_largest(live) if live and kind is errors.ResourceExhaustedError else None,
        made_at=made_at(node.stack),
    )
    typed: BaseException = kind(node, node, text)
    return typed


def _largest(live: dict[Output, Any]) -> str | None:
    """Names the largest tensors that a step held when there was no memory left."""
    tensors = [(output, value) for output, value in live.items() if isinstance(value, torch.Tensor)]
    tensors.sort(key=lambda pair: -pair[1].nbytes)
    told = [
        f"'{node.name}:{index}' {_NAMES.get(value.dtype, str(value.dtype))}{show(tuple(value.shape))}"
        f" ({errors.format_bytes(value.nbytes)})"
        for (node, index), value in tensors[:_TOLD]
    ]
    return f"the largest tensors that the step holds are {', '.join(told)}" if told else None


def shape_error(node: Node, values: Sequence[Any]) -> errors.ShapeError | None:
    """Asks the op's shape function what it says to the shapes that really came."""
    try:
        seen = [_Seen(value, node.input_dtype(i)) for i, value in enumerate(values)]
        node.definition.infer(Inference(node.definition, node.attrs, seen, len(node.dtypes)))
    except errors.ShapeError as error:
        return error
    except Exception:
        return None  # a second failure would hide the first
    return None


def _no_kernel(node: Node) -> errors.OpError | None:
    """Names the type if a kernel for tensors was given something else: strings, or a handle."""
    for index in range(len(node.inputs)):
        dtype = node.input_dtype(index)
        if dtype is dtypes.string or dtype is dtypes.resource:
            return errors.UnimplementedError(None, None, f"no kernel takes {dtype.name} values here")
    return None


def _received(node: Node, values: Sequence[Any] | None) -> list[tuple[str, str, str]]:
    result = []
    for index, (producer, output) in enumerate(node.inputs):
        while producer.type in ("_CopyToHost", "_CopyToDevice"):
            producer, output = producer.inputs[0]
        name = producer.attrs.get("_feeds", f"{producer.name}:{output}")
        value = values[index] if values is not None and index < len(values) else None
        if isinstance(value, torch.Tensor):
            result.append((name, _NAMES.get(value.dtype, str(value.dtype)), show(tuple(value.shape))))
        else:
            result.append((name, producer.dtypes[output].name, show(producer.shapes[output])))
    return result


def _with_line(text: str, node: Node) -> str:
    line = made_at(node.stack)
    return text if line is None or "made at:" in text else f"{text}\n  made at: {line}"


def _first_sentence(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    text = lines[0].strip() if lines else type(error).__name__
    return ". ".join(text.split(". ")[:3]) if isinstance(error, torch.OutOfMemoryError) else text  # advice follows


def _class_of(error: BaseException) -> Any:
    text = str(error)
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in text:
        return errors.ResourceExhaustedError
    if any(part in text for part in ("Storage size calculation overflowed", "invalid size", "array is too big")):
        return errors.ResourceExhaustedError
    if isinstance(error, NotImplementedError) or "not implemented for" in text:
        return errors.UnimplementedError
    if isinstance(error, RuntimeError | ValueError | TypeError | IndexError | OverflowError | ZeroDivisionError):
        return errors.InvalidArgumentError
    return errors.InternalError


def locate(error: BaseException, codes: dict[str, Any]) -> list[tuple[Any, int, dict[str, Any]]]:
    """Returns generated code, line and local values where an exception passed, innermost last: that of a cluster."""
    found = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        code = codes.get(trace.tb_frame.f_code.co_filename)
        if code is not None:
            found.append((code, trace.tb_lineno, trace.tb_frame.f_locals))
        trace = trace.tb_next
    return found
