"""Error reporting: converts exceptions of kernels to typed errors that name node, inputs and the user's source line."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, TypeGuard

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import show
from thalweg._src.graph.explain import explain_shape_error, failed_at, received_text
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.graph.source_line import made_at, with_line
from thalweg._src.runtime.kernels.types import TORCH

UNTAKEN_BRANCH = "the value fetched belongs to a branch that was not taken"
LOCAL_TASK = "/job:localhost/replica:0/task:0"  # omitted in single-process programs
_MAX_LISTED = 5  # tensors that an error names
_NAMES: dict[torch.dtype, str] = {torch_type: dtype.name for dtype, torch_type in reversed(TORCH.items())}


class _Seen:
    """An input of the failed kernel, with the interface that shape functions use."""

    __slots__ = ("dims", "dtype", "static_value")

    def __init__(self, value: object, dtype: DType) -> None:
        self.dtype = dtype
        shape = getattr(value, "shape", None)
        self.dims = None if shape is None else tuple(shape)
        self.static_value = value.numpy() if is_visible(value) else None


def is_visible(value: object) -> TypeGuard[torch.Tensor]:
    """Returns whether shape functions see the elements of an input, not only its shape."""
    return (
        isinstance(value, torch.Tensor)
        and value.device.type == "cpu"
        and value.numel() <= 64
        and not value.dtype.is_floating_point
    )


def in_iteration(place: str, iteration: int | None) -> str:
    """Returns a device name with the iteration of a loop, for error messages."""
    return place if iteration is None else f"{place} in iteration {iteration}"


def explain(
    error: BaseException, node: Node, values: Sequence[Any] | None, device: str, live: dict[Output, Any] | None = None
) -> BaseException:
    """Returns the typed error for an exception of a kernel; the place is added to errors that are typed already.

    device: its name, followed by the iteration of a loop, if any
    live: the live values of the step
    """
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return error
    place = f" on {device.removeprefix(LOCAL_TASK)}" if device else ""
    # torch's messages do not know TensorFlow's argument names. If the op's own shape function rejects the shapes that
    # the kernel received, its error says more, and is the cause in all likelihood.
    if values is not None and not isinstance(error, errors.OpError):
        mismatch = shape_error(node, values)
        if mismatch is not None:
            error = mismatch
        elif isinstance(error, AttributeError | TypeError):
            error = _no_kernel(node, error) or error
    received = _received(node, values)
    if isinstance(error, errors.ShapeError):
        return errors.InvalidArgumentError(node, node, explain_shape_error(error, node, received, place))
    if isinstance(error, errors.OpError):
        if error.op is None:
            text = failed_at(node, place, error.message)
            error_class: Any = type(error)
            placed: BaseException = error_class(node, node, with_line(text, node.stack))
            return placed
        return error
    error_class = _class_of(error)
    text = errors.describe(
        failed_at(node, place, _first_sentence(error)),
        received=received_text(node.definition, received),
        hint=_largest(live) if live and error_class is errors.ResourceExhaustedError else None,
        made_at=made_at(node.stack),
    )
    typed: BaseException = error_class(node, node, text)
    return typed


def _largest(live: dict[Output, Any]) -> str | None:
    """Returns a list of the largest live tensors, for an out-of-memory error."""
    tensors = [(output, value) for output, value in live.items() if isinstance(value, torch.Tensor)]
    tensors.sort(key=lambda pair: -pair[1].nbytes)
    listed = [
        f"'{node.name}:{index}' {_NAMES.get(value.dtype, str(value.dtype))}{show(tuple(value.shape))}"
        f" ({errors.format_bytes(value.nbytes)})"
        for (node, index), value in tensors[:_MAX_LISTED]
    ]
    return f"the largest live tensors of the step are {', '.join(listed)}" if listed else None


def shape_error(node: Node, values: Sequence[Any]) -> errors.ShapeError | None:
    """Returns the error of the op's shape function for the actual shapes, if it rejects them."""
    try:
        seen = [_Seen(value, node.input_dtype(i)) for i, value in enumerate(values)]
        node.definition.infer(Inference(node.definition, node.attrs, seen, len(node.dtypes)))
    except errors.ShapeError as error:
        return error
    except Exception:
        return None  # a second failure would hide the first
    return None


def _no_kernel(node: Node, error: BaseException) -> errors.OpError | None:
    """Returns an error if a kernel for tensors was called with something else: strings, or a handle.

    The message keeps the original one, since a kernel that does accept them can fail in the same way.
    """
    for index in range(len(node.inputs)):
        dtype = node.input_dtype(index)
        if dtype is dtypes.string or dtype is dtypes.resource:
            text = f"no kernel accepts {dtype.name} inputs here: {_first_sentence(error)}"
            return errors.UnimplementedError(None, None, text)
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
        elif isinstance(value, np.ndarray):
            result.append((name, producer.dtypes[output].name, show(value.shape)))
        else:
            result.append((name, producer.dtypes[output].name, show(producer.shapes[output])))
    return result


def _first_sentence(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    text = lines[0].strip() if lines else type(error).__name__
    if text.startswith("Boolean value of Tensor"):
        return "the predicate is not a scalar"
    if _NOT_DETERMINISTIC in text:
        return f"{text.partition(' ')[0]} has no deterministic kernel here, and operations must be deterministic: " + (
            "place the operation on the CPU"
        )
    return ". ".join(text.split(". ")[:3]) if isinstance(error, torch.OutOfMemoryError) else text  # advice follows


_OUT_OF_MEMORY = (
    "can't allocate memory",
    "out of memory",
    "ALLOC_FAILED",
    "Storage size calculation overflowed",
    "invalid size",
    "array is too big",
)


_NOT_DETERMINISTIC = " does not have a deterministic implementation"


def _class_of(error: BaseException) -> Any:
    text = str(error)
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or any(phrase in text for phrase in _OUT_OF_MEMORY):
        return errors.ResourceExhaustedError
    if isinstance(error, NotImplementedError) or "not implemented for" in text or _NOT_DETERMINISTIC in text:
        return errors.UnimplementedError
    if isinstance(error, RuntimeError | ValueError | TypeError | IndexError | OverflowError | ZeroDivisionError):
        return errors.InvalidArgumentError
    return errors.InternalError


def locate(error: BaseException, codes: dict[str, Any]) -> list[tuple[Any, int, dict[str, Any]]]:
    """Returns generated code, line and local values where an exception passed, innermost last: that of a cluster."""
    places = []
    # Generated functions have no frames to look at once they have ended: the traceback still holds each frame, with the
    # line that was running and the values of its local variables, which say which tensors were alive.
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        code = codes.get(trace.tb_frame.f_code.co_filename)
        if code is not None:
            places.append((code, trace.tb_lineno, trace.tb_frame.f_locals))
        trace = trace.tb_next
    return places
