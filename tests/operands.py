"""Operands as programs pass them: values that do not fill memory from their first element to their last.

Behind the last element of an operand is a page that cannot be read, and what lies between its elements is poison. So
native code that ignores strides ends the process or gives other numbers. A trial compares a call of an operation on
such operands with one on dense copies; it runs in a sandbox.
"""

from __future__ import annotations

import ctypes
import math
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.sandbox import PREPARE, Case, Report, Variable

Array = np.ndarray[Any, Any]
_protect = ctypes.CDLL(None).mprotect


def guarded(array: Array) -> Array:
    """Returns a copy that ends where the next byte cannot be read; neither can those of the page before the first."""
    pages = -(-array.nbytes // mmap.PAGESIZE)
    memory = mmap.mmap(-1, (pages + 2) * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (0, pages + 1):
        assert _protect(ctypes.c_void_p(start + page * mmap.PAGESIZE), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    result = np.frombuffer(memory, array.dtype, array.size, (pages + 1) * mmap.PAGESIZE - array.nbytes)
    result = result.reshape(array.shape)
    result[...] = array
    return result


def _poisoned(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Returns NaN or huge numbers."""
    result = np.empty(shape, dtype)
    result.reshape(-1).view(np.uint8)[...] = 0x7F if dtype.kind in "iub" else 0xFF
    return result


def _between(array: Array) -> Array:
    result = _poisoned([2 * n for n in array.shape], array.dtype)
    result[_every_second(array.ndim)] = array
    return result


def _inside(array: Array) -> Array:
    result = _poisoned([n + 2 for n in array.shape], array.dtype)
    result[_middle(array.ndim)] = array
    return result


def _every_second(rank: int) -> tuple[Any, ...]:
    return (*[slice(1, None, 2)] * rank, ...)


def _middle(rank: int) -> tuple[Any, ...]:
    return (*[slice(1, -1)] * rank, ...)


@dataclass(frozen=True)
class Layout:
    """What is in memory for an array, and its view as an operand; the library is NumPy or Thalweg itself.

    repeats: elements of the array are replaced by others, so that the operation may have another meaning
    """

    memory: Callable[[Array], Array]
    view: Callable[[Any, tuple[int, ...], Any], Any]
    repeats: bool = False

    def operand(self, array: Array) -> Array:
        return array if array.dtype == object else self.view(guarded(self.memory(array)), array.shape, np)


def _expanded(memory: Callable[[Array], Array]) -> Layout:
    return Layout(
        lambda array: memory(array) if array.ndim and array.size else array,
        lambda x, shape, library: library.broadcast_to(x, shape),
        repeats=True,
    )


LAYOUTS = {
    "dense": Layout(lambda array: array, lambda x, shape, library: x),
    "transposed": Layout(np.transpose, lambda x, shape, library: library.transpose(x)),
    "inside": Layout(_inside, lambda x, shape, library: x[_middle(len(shape))]),
    "every second": Layout(_between, lambda x, shape, library: x[_every_second(len(shape))]),
    "one value": _expanded(lambda array: array[(slice(1),) * array.ndim]),
    "one row": _expanded(lambda array: array[:1]),
    "one column": _expanded(lambda array: array[..., :1]),
}


@dataclass(frozen=True)
class Trial:
    """A call of an operation with operands in some layouts.

    computed: the operands are views that the step computes, instead of fed
    slopes: gradients are computed as well
    one_by_one: the layouts in which also single operands are tried, the others being dense
    """

    case: Case
    layouts: tuple[str, ...] = tuple(LAYOUTS)
    computed: bool = False
    slopes: bool = False
    one_by_one: tuple[str, ...] = ()

    @property
    def op(self) -> str:
        return self.case.op


def examine(trial: Trial) -> Report:
    """Compares the results for each layout with those for dense copies of the same values."""
    problems, succeeded = [], False
    arrays: list[Array] = []
    _map_arrays(lambda array: arrays.append(array), trial.case.inputs)
    if not arrays:
        return Report((), True)
    try:
        call = _Call(trial)
    except (TypeError, ValueError):  # the operation has no such type or size
        return Report(())
    if trial.slopes:
        arrays = [*arrays, *call.output_slopes(arrays)]
    for name in trial.layouts:
        singles = [{i} for i in range(len(arrays))] if name in trial.one_by_one else []
        for chosen in [set(range(len(arrays))), *singles]:
            layout = LAYOUTS[name]
            if not chosen:
                continue
            if layout.repeats and any(array.dtype.kind in "fcV" for array in arrays) and chosen not in singles:
                chosen = {i for i in chosen if arrays[i].dtype.kind in "fcV"}
            operands = [layout.operand(a) if i in chosen else a for i, a in enumerate(arrays)]
            expected = call.run([np.array(operand) for operand in operands])
            result = call.run(operands, dict.fromkeys(chosen, layout) if trial.computed else {})
            succeeded = succeeded or not isinstance(expected, str)
            if (problem := _difference(result, expected)) is not None:
                problems.append(f"{trial.op}: {name}, operands {sorted(chosen)}: {problem}")
    return Report(tuple(problems), succeeded)


def _map_arrays(change: Callable[[Array], Any], value: Any) -> Any:
    """Calls a function for each array among the inputs of a case, in order."""
    if isinstance(value, list | tuple):
        return [_map_arrays(change, item) for item in value]
    if isinstance(value, Variable):
        return value if hasattr(value, "make_handle") or value.value is None else change(np.asarray(value.value))
    return change(np.asarray(value)) if isinstance(value, np.ndarray | np.generic) else value


class _Call:
    """The graph of a call: its inputs are fed, or views of what is fed."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._slopes: list[Array] = []
        self._plain = self._build({}, [])

    def output_slopes(self, arrays: Sequence[Array]) -> list[Array]:
        """Returns values for the gradients of the outputs, from now on inputs as well."""
        values = self.run(arrays)
        inexact = () if isinstance(values, str) else [np.asarray(v) for v in values if np.asarray(v).dtype.kind in "fc"]
        self._slopes = [(np.arange(v.size) % 7 / 7 + 0.1).reshape(v.shape).astype(v.dtype) for v in inexact]
        self._plain = self._build({}, self._slopes)
        return self._slopes

    def run(self, operands: Sequence[Array], views: dict[int, Layout] | None = None) -> Any:
        """Returns the results for some operands, or the text of an error."""
        import thalweg as tf

        feeds, setup, fetches, reads = self._build(views, self._slopes) if views else self._plain
        stored = [
            guarded(views[i].memory(operand)) if views and i in views and operand.dtype != object else operand
            for i, operand in enumerate(operands)
        ]
        fed = dict(zip(feeds, stored))
        try:
            with tf.Session(graph=feeds[0].graph) as session:
                session.run(setup, fed)
                return [*(session.run(fetches, fed) or []), *session.run(reads)]
        except tf.errors.OpError as error:
            return f"{type(error).__name__}: {error.message}"

    def _build(self, views: dict[int, Layout], slopes: Sequence[Array]) -> Any:
        """Returns the tensors to feed, what to run before, what to fetch, and the reads of variables after it."""
        import thalweg as tf
        from thalweg._src.graph.op_def import OPS

        case, definition = self._trial.case, OPS.lookup(self._trial.op)
        graph = tf.Graph()
        feeds: list[Any] = []
        setup: list[Any] = []
        handles: list[Any] = []

        def fed(array: Array) -> Any:
            layout = views.get(len(feeds)) if array.dtype != object else None
            memory = array if layout is None else layout.memory(array)
            feeds.append(tf.placeholder(tf.as_dtype(array.dtype), memory.shape))
            return feeds[-1] if layout is None else layout.view(feeds[-1], array.shape, tf)

        def entered(value: Any, is_ref: bool) -> Any:
            if isinstance(value, list):
                return [entered(item, is_ref) for item in value]
            if hasattr(value, "make_handle"):
                return value.make_handle(setup)
            return _variable(value, is_ref, fed, setup, handles) if isinstance(value, Variable) else fed(value)

        with graph.as_default():
            PREPARE.get(case.op, lambda graph: None)(graph)
            inputs = [entered(v, arg.is_ref) for arg, v in zip(definition.inputs, case.inputs)]
            count = len(feeds)
            definition.many(*inputs, *case.inputs[len(inputs) :], name="tried", **_seeded(definition, case.attrs))
            operation = graph.get_operation_by_name("tried")
            outputs = [output for output in operation.outputs if output.dtype.name not in ("resource", "variant")]
            reads = [_read(handle, dtype) for handle, dtype in handles]
            if slopes:
                outputs += _gradients(outputs, feeds[:count], [fed(slope) for slope in slopes])
        return feeds, setup, outputs or operation, reads


def _variable(value: Variable, is_ref: bool, fed: Any, setup: list[Any], handles: list[Any]) -> Any:
    from thalweg._src.graph.ops.references import variable_v2_op
    from thalweg._src.graph.ops.state import assign_variable_op, var_handle_op

    make = variable_v2_op if is_ref else var_handle_op
    handle = make(dtype=value.dtype, shape=value.shape, shared_name=f"variable{len(handles)}")
    if value.value is not None:
        handles.append((handle, value.dtype))
        setup.append(assign_variable_op.operation(handle, fed(np.asarray(value.value))))
    return handle


def _read(handle: Any, dtype: str) -> Any:
    from thalweg._src.graph.ops.identity import identity
    from thalweg._src.graph.ops.state import read_variable_op

    return identity(handle) if handle.op.type == "VariableV2" else read_variable_op(handle, dtype=dtype)


def _seeded(definition: Any, attrs: dict[str, Any]) -> dict[str, Any]:
    """Returns attributes with which a random operation gives the same numbers in each session."""
    seeds = {key: 7 for key in ("seed", "seed2") if key in definition.attrs and definition.attrs[key].kind == "int"}
    return {**attrs, **seeds}


def _gradients(outputs: Sequence[Any], inputs: Sequence[Any], slopes: Sequence[Any]) -> list[Any]:
    """Returns the gradients that the operation has."""
    import thalweg as tf

    inexact = [output for output in outputs if output.dtype.is_floating or output.dtype.is_complex]
    inputs = [x for x in inputs if x.dtype.is_floating or x.dtype.is_complex]
    try:
        gradients = tf.gradients(inexact, inputs, slopes)
    except (LookupError, ValueError, TypeError, tf.errors.OpError):
        return []
    return [getattr(gradient, "values", gradient) for gradient in gradients if gradient is not None]


def _difference(result: Any, expected: Any) -> str | None:
    if isinstance(result, str) or isinstance(expected, str):
        return None if result == expected else f"{str(result)[:200]} instead of {str(expected)[:200]}"
    for a, b in zip(map(np.asarray, result), map(np.asarray, expected), strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{a.dtype}{a.shape} instead of {b.dtype}{b.shape}"
        if not _close(a, b):
            return f"{str(a)[:200]} instead of {str(b)[:200]}"
    return None


def _close(a: Array, b: Array) -> bool:
    """Returns whether two results differ by no more than another order of summation explains."""
    if a.dtype.kind not in "fcV" or a.dtype.names:
        return bool(np.array_equal(a, b)) or a.dtype == object  # of objects that are no values
    tolerance = 1e-2 if a.dtype.itemsize == 2 else 1e-4
    a, b = (x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in (a, b))
    largest = np.abs(b[np.isfinite(b)]).max(initial=1.0)
    with np.errstate(all="ignore"):
        return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * min(largest, math.inf), equal_nan=True))
