"""GradientTape: records operations in a `with` block, and computes gradients, Jacobians and higher derivatives."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Iterator
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.autodiff.gradients import UnconnectedGradients, gradients
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops.concat import stack, unstack
from thalweg._src.graph.ops.diagonal import eye
from thalweg._src.graph.ops.pad_tile import tile
from thalweg._src.graph.ops.reshape import ones_like, reshape, zeros, zeros_like
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.eager.backprop import backpropagate
from thalweg._src.runtime.eager.tape import Tape
from thalweg._src.runtime.eager.tensor import EagerTensor

_log = logging.getLogger("thalweg")


@export("GradientTape", "contrib.eager.GradientTape")
class GradientTape:
    """Records operations for automatic differentiation, in the `with` block of the tape.

    Args:
        persistent: Whether gradients may be computed more than once.
        watch_accessed_variables: Whether trainable variables are watched when they are read.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_accessed_variables = watch_accessed_variables
        self._tape: Tape | None = None
        self._recording = False
        self._variables: dict[int, Any] = {}  # those watched; also after the tape was used

    def __enter__(self) -> GradientTape:
        """Starts recording."""
        self._push_tape()
        return self

    def __exit__(self, *exc: object) -> None:
        """Ends recording."""
        if self._recording:
            self._pop_tape()

    def _push_tape(self) -> None:
        if self._recording:
            raise ValueError("Tape is already recording.")
        if self._tape is None:
            self._tape = Tape(self._watch_accessed_variables, self._persistent)
            self._variables = self._tape.variables
        self._tape.push()
        self._recording = True

    def _pop_tape(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        assert self._tape is not None
        self._tape.pop()
        self._recording = False

    def _require(self, what: str) -> Tape:
        if self._tape is None:
            raise RuntimeError(
                f"GradientTape.{what} can only be called once on non-persistent tapes, and after the tape has recorded"
            )
        return self._tape

    def watch(self, tensor: object) -> None:
        """Records operations on a tensor, a variable, or a structure of them."""
        if not self._recording:
            raise RuntimeError("GradientTape.watch: the tape does not record; call it in the `with` block")
        tape = self._require("watch")
        for element in nest.flatten(tensor):
            source = _source(element)
            if not (source.dtype.is_floating or source.dtype.is_complex or source.dtype is dtypes.resource):
                _log.warning("The dtype of the watched tensor must be floating (e.g. tf.float32), got %r", source.dtype)
            if getattr(element, "_handle", None) is source:
                tape.variables[id(element)] = element
            tape.watch(source)

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Context manager: this tape does not record."""
        if not self._recording:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._pop_tape()
        try:
            yield
        finally:
            self._push_tape()

    def reset(self) -> None:
        """Forgets what was recorded and watched."""
        was_recording = self._recording
        if was_recording:
            self._pop_tape()
        self._tape = None
        if was_recording:
            self._push_tape()

    def watched_variables(self) -> tuple[Any, ...]:
        """Returns the variables that are watched, in the order in which they were first read."""
        return tuple(self._variables.values())

    def gradient(
        self,
        target: object,
        sources: object,
        output_gradients: object = None,
        unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
    ) -> Any:
        """Returns the gradients of the targets with respect to the sources, in the structure of these."""
        unconnected = UnconnectedGradients(unconnected_gradients)
        tape = self._finished("gradient")
        flat = nest.flatten(sources)
        grads = _gradients(tape, nest.flatten(target), flat, output_gradients)
        if not self._persistent:
            self._tape = None
        if unconnected is UnconnectedGradients.ZERO:
            grads = [zeros_like(convert_to_tensor(x)) if g is None else g for x, g in zip(flat, grads)]
        return nest.pack_sequence_as(sources, grads)

    def _finished(self, what: str) -> Tape:
        """Returns the tape for a computation of gradients, which it records only if it is persistent."""
        tape = self._require(what)
        if self._recording:
            if not self._persistent:
                self._pop_tape()
            else:
                _log.warning(
                    "Calling GradientTape.%s on a persistent tape inside its context is significantly less efficient "
                    "than calling it outside the context (it causes the gradient ops to be recorded on the tape).",
                    what,
                )
        return tape

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Returns the derivatives of each element of a target with respect to the sources."""
        unconnected = UnconnectedGradients(unconnected_gradients)
        tape = self._finished("jacobian")
        flat, shape = nest.flatten(sources), target.shape.as_list()
        rows = [_gradients(tape, [target], flat, [unit]) for unit in _units(shape, target.dtype)]
        if not self._persistent:
            self._tape = None
        jacobians: list[Any] = []
        for position, source in enumerate(flat):
            source_shape = convert_to_tensor(source).shape.as_list()
            derivatives = [row[position] for row in rows]
            if None not in derivatives:
                jacobians.append(reshape(stack(list(map(convert_to_tensor, derivatives))), shape + source_shape))
            else:
                jacobians.append(
                    zeros(shape + source_shape, source.dtype) if unconnected is UnconnectedGradients.ZERO else None
                )
        return nest.pack_sequence_as(sources, jacobians)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Returns for each example of a batch the derivatives of its target with respect to its own source."""
        unconnected = UnconnectedGradients(unconnected_gradients)
        batch, source_shape = target.shape.as_list(), source.shape.as_list()
        if not batch or not source_shape or batch[0] != source_shape[0]:
            raise ValueError(f"Need first dimension of source ({source.shape}) and target ({target.shape}) to match")
        tape = self._finished("batch_jacobian")
        units = [tile(unit[None], [batch[0]] + [1] * (len(batch) - 1)) for unit in _units(batch[1:], target.dtype)]
        derivatives = [_gradients(tape, [target], [source], [unit])[0] for unit in units]
        if not self._persistent:
            self._tape = None
        if None not in derivatives:
            return reshape(stack(list(map(convert_to_tensor, derivatives)), axis=1), batch + source_shape[1:])
        return zeros(batch + source_shape[1:], source.dtype) if unconnected is UnconnectedGradients.ZERO else None


def _units(shape: list[int], dtype: DType) -> list[Any]:
    """Returns the tensors of a shape that are one at one element and zero elsewhere."""
    size = math.prod(shape)
    return [reshape(row, shape) for row in unstack(eye(size, dtype=dtype))] if size else []


def _source(value: object) -> Any:
    """Returns the tensor to which the gradient of a source is added: of a variable, its handle."""
    if isinstance(value, IndexedSlices):
        return value.values
    handle = getattr(value, "_handle", None)
    return handle if isinstance(handle, Tensor) else convert_to_tensor(value)


def _gradients(tape: Tape, targets: list[Any], sources: list[Any], output_gradients: object) -> list[Any]:
    ys, xs = [_value(target) for target in targets], [_source(source) for source in sources]
    output_grads = [None] * len(ys) if output_gradients is None else nest.flatten(output_gradients)
    if len(output_grads) != len(ys):
        raise ValueError(f"Passed {len(output_grads)} output_gradients for {len(ys)} targets")
    if not all(isinstance(y, EagerTensor) for y in ys):
        return gradients(ys, xs, output_grads)
    grads = [ones_like(y) if grad is None else convert_to_tensor(grad, y.dtype) for y, grad in zip(ys, output_grads)]
    return backpropagate(tape.operations, list(zip(ys, grads)), [x for x in xs if isinstance(x, EagerTensor)])


def _value(target: object) -> Any:
    """Returns a target as a tensor; the gradient of a variable is that of its value."""
    handle = getattr(target, "_handle", None)
    return handle if isinstance(handle, EagerTensor) else convert_to_tensor(target)
