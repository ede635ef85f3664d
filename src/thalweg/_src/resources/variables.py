"""Variables: the mutable buffers of a model.

A buffer is changed in place only while nobody else can see its memory; otherwise the variable moves to a copy. So a
value that was read, or fetched, never changes afterwards, and an update normally costs no copy.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from thalweg._src import dtypes, errors
from thalweg._src.dtypes import DType
from thalweg._src.shapes import Shape, compatible, show

_use_count = torch._C._storage_Use_Count


class _Thread(threading.local):
    recording = False


_thread = _Thread()


@contextmanager
def recording() -> Iterator[None]:
    """Forbids this thread to move variables: what is recorded must find them where they are."""
    _thread.recording = True
    try:
        yield
    finally:
        _thread.recording = False


class VariableResource:
    """One variable: a buffer or nothing yet, guarded by a lock."""

    __slots__ = ("device", "dtype", "is_order_fixed", "lock", "name", "order", "recorded", "shape", "value")

    def __init__(self, name: str, dtype: DType, shape: Shape, device: torch.device) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.device = device
        self.lock = threading.Lock()
        self.value: Any = None
        self.order: tuple[int, ...] | None = None  # of the dimensions in memory, if it is not their own
        self.is_order_fixed = False  # compiled steps count on that order
        self.recorded: Any = None  # the buffer that recorded steps use

    def read(self) -> Any:
        """Returns the buffer itself; whoever holds it keeps later writes from changing it in place."""
        with self.lock:
            value = self.value
        if value is None:
            raise uninitialized(self)
        return value

    def read_or(self, initial: Any) -> Any:
        """Returns the buffer, or the given value while there is none."""
        with self.lock:
            return initial if self.value is None else self.value

    def assign(self, value: Any) -> None:
        """Takes a new value, sharing its memory as long as nobody writes."""
        if _thread.recording:
            self._overwrite(value)
            return
        is_tensor = isinstance(value, torch.Tensor)
        if is_tensor and value.shape != self.shape and not compatible(self.shape, tuple(value.shape)):
            raise errors.ShapeError(
                f"cannot assign a value of shape {show(tuple(value.shape))} to variable {self.name!r}",
                expected=f"a value of shape {show(self.shape)}",
                hint=None,
            )
        while True:
            order = self.order
            kept = self.as_kept(value) if is_tensor else np.array(value, dtype=object)
            with self.lock:
                if self.order == order:  # it did not change meanwhile
                    self.value = kept
                    return

    def as_kept(self, value: torch.Tensor) -> torch.Tensor:
        """Returns a value with its dimensions in the order in which this variable keeps them."""
        if self.order is not None:
            value = value.permute(self.order)
        # Memory that came from NumPy belongs to the user.
        is_ours = value.untyped_storage().resizable()
        value = value.contiguous() if is_ours else value.clone(memory_format=torch.contiguous_format)
        return value if self.order is None else value.permute(_inverse(self.order))

    def lay_out(self, order: tuple[int, ...]) -> None:
        """Keeps the dimensions in this order in memory from now on, unless somebody counts on another one already."""
        with self.lock:
            if self.order is not None or self.is_order_fixed or self.recorded is not None:
                return
            self.order = order
            if self.value is not None:
                self.value = self.as_kept(self.value)

    def with_fixed_order(self) -> Any:
        """Returns the buffer for somebody who counts on its order from now on."""
        with self.lock:
            self.is_order_fixed = True
            return self.value

    def replace(self, value: Any) -> None:
        """Takes a value as it is; whoever compiles a step looks at it afterwards."""
        self.value = value

    def _overwrite(self, value: torch.Tensor) -> None:
        """Copies a new value into the buffer: what was recorded looks for it there."""
        with self.lock:
            buffer = self.writable()
            if buffer.shape != value.shape:
                raise errors.FailedPreconditionError(None, None, f"{self.name!r} needs another buffer")
            buffer.copy_(value)

    def writable(self) -> Any:
        """Returns a buffer to change in place; the caller holds the lock."""
        value = self.value
        if value is None:
            raise uninitialized(self)
        if not isinstance(value, torch.Tensor):
            value = self.value = value.copy()
        elif not _is_free(value, _SOLE + (value is self.recorded)):
            if _thread.recording:
                raise errors.FailedPreconditionError(None, None, f"the value of {self.name!r} is held elsewhere")
            value = self.value = value.clone()
        return value

    def find_recorded(self, changes: bool) -> bool:
        """Sees that the value is in the recorded buffer, free to change if need be; the caller holds the lock."""
        if self.recorded is None:
            self.recorded = self.value
        buffer = self.recorded
        if self.value is buffer:
            return buffer is not None and (not changes or _is_free(buffer, _SOLE + 1))
        if self.value is None or self.value.shape != buffer.shape or not _is_free(buffer, _SOLE):
            return False
        buffer.copy_(self.value)
        self.value = buffer
        return True

    def update(self, change: Callable[..., Any], *args: Any) -> Any:
        """Calls `change(buffer, *args)` under the lock, which may change the buffer in place."""
        with self.lock:
            return change(self.writable(), *args)

    @property
    def is_initialized(self) -> bool:
        return self.value is not None

    def destroy(self) -> None:
        with self.lock:
            self.value = self.recorded = None

    def __repr__(self) -> str:
        state = "initialized" if self.is_initialized else "uninitialized"
        return f"<variable {self.name!r} {self.dtype.name}{show(self.shape)}, {state}>"


def _inverse(order: tuple[int, ...]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


def _is_free(buffer: torch.Tensor, holders: int) -> bool:
    """Returns whether no more than these hold a buffer, and nobody else its memory."""
    return sys.getrefcount(buffer) <= holders and _use_count(buffer.untyped_storage()._cdata) <= 2


def _references(value: Any) -> int:
    return sys.getrefcount(value)


def _counts_of_sole_owner() -> tuple[int, int]:
    """Returns what `getrefcount` says of a buffer that only the variable holds; interpreters differ.

    Of a local value, and of one that was handed to a function.
    """
    probe = VariableResource("", dtypes.float32, (), torch.device("cpu"))
    probe.value = object()
    value = probe.value
    return sys.getrefcount(value), _references(value)


_LOCAL, _SOLE = _counts_of_sole_owner()


def all_writable(variables: Sequence[VariableResource]) -> list[Any]:
    """Returns the buffers of several numeric variables, as `writable` does of one; the caller holds their locks.

    An optimizer asks for dozens in every step, so the common case is looked at here without a call.
    """
    buffers: list[Any] = []
    for variable in variables:
        value = variable.value
        if value is None or sys.getrefcount(value) > _LOCAL or _use_count(value.untyped_storage()._cdata) > 2:
            del value
            value = variable.writable()
        buffers.append(value)
    return buffers


class locked:
    """Holds the locks of several variables, taken in one order everywhere so that no two steps wait in a ring."""

    __slots__ = ("_locks",)

    def __init__(self, variables: Sequence[VariableResource]) -> None:
        distinct = {id(variable): variable.lock for variable in variables}
        self._locks = [distinct[key] for key in sorted(distinct)]

    def __enter__(self) -> None:
        for lock in self._locks:
            lock.acquire()

    def __exit__(self, *exc: object) -> None:
        for lock in self._locks:
            lock.release()


def uninitialized(variable: VariableResource) -> errors.FailedPreconditionError:
    return errors.FailedPreconditionError(
        None,
        None,
        errors.describe(
            f"Attempting to use uninitialized value {variable.name}",
            expected="a variable that was initialized or restored in this session",
            hint="run tf.global_variables_initializer() first",
        ),
    )
