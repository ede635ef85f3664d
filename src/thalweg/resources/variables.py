"""Variables: the mutable buffers of a model.

A buffer is changed in place only while nobody else can see its memory; otherwise the variable moves to a copy. So a
value that was read, or fetched, never changes afterwards, and an update normally costs no copy.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from thalweg import dtypes, errors
from thalweg.dtypes import DType
from thalweg.shapes import Shape, compatible, show

_use_count = torch._C._storage_Use_Count


class VariableResource:
    """One variable: a buffer or nothing yet, guarded by a lock."""

    __slots__ = ("device", "dtype", "lock", "name", "shape", "value")

    def __init__(self, name: str, dtype: DType, shape: Shape, device: torch.device) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.device = device
        self.lock = threading.Lock()
        self.value: Any = None

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
        if isinstance(value, torch.Tensor):
            if value.shape != self.shape and not compatible(self.shape, tuple(value.shape)):
                raise errors.ShapeError(
                    f"cannot assign a value of shape {show(tuple(value.shape))} to variable {self.name!r}",
                    expected=f"a value of shape {show(self.shape)}",
                    hint=None,
                )
            # Memory that came from NumPy belongs to the user.
            value = value.contiguous() if value.untyped_storage().resizable() else value.clone()
        else:
            value = np.array(value, dtype=object)
        with self.lock:
            self.value = value

    def writable(self) -> Any:
        """Returns a buffer to change in place; the caller holds the lock."""
        value = self.value
        if value is None:
            raise uninitialized(self)
        if not isinstance(value, torch.Tensor):
            value = self.value = value.copy()
        elif sys.getrefcount(value) > _SOLE or _use_count(value.untyped_storage()._cdata) > 2:
            value = self.value = value.clone()
        return value

    def update(self, change: Callable[..., Any], *args: Any) -> Any:
        """Calls `change(buffer, *args)` under the lock, which may change the buffer in place."""
        with self.lock:
            return change(self.writable(), *args)

    @property
    def is_initialized(self) -> bool:
        return self.value is not None

    def destroy(self) -> None:
        with self.lock:
            self.value = None

    def __repr__(self) -> str:
        state = "initialized" if self.is_initialized else "uninitialized"
        return f"<variable {self.name!r} {self.dtype.name}{show(self.shape)}, {state}>"


def _count_of_sole_owner() -> int:
    """Returns what `getrefcount` says in `writable` of a buffer that only the variable holds; interpreters differ."""
    probe = VariableResource("", dtypes.float32, (), torch.device("cpu"))
    probe.value = object()
    value = probe.value
    if value is None:
        return 0
    return sys.getrefcount(value)


_SOLE = _count_of_sole_owner()


def all_writable(variables: Sequence[VariableResource]) -> list[Any]:
    """Returns the buffers of several numeric variables, as `writable` does of one; the caller holds their locks.

    An optimizer asks for dozens in every step, so the common case is looked at here without a call.
    """
    buffers: list[Any] = []
    for variable in variables:
        value = variable.value
        if value is None or sys.getrefcount(value) > _SOLE or _use_count(value.untyped_storage()._cdata) > 2:
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
