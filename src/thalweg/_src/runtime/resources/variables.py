"""Variables: the mutable buffers of a model, with copy-on-write.

A buffer is changed in place only while nothing else references its memory, which the reference counts of the tensor and
of its storage show; otherwise the variable moves to a copy first. So a value that was read or fetched never changes,
and an update normally needs no copy.

While a transaction may still undo its changes, a variable keeps what restores it (`before`): the buffer as it was, or,
of a table of which only rows changed, those rows.

A CUDA graph replays on fixed addresses. So a variable keeps the buffer that graphs were captured with (`captured`), and
before a replay its current value is moved back there; during a capture the variable must not change its buffer at all.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import Shape, compact, compatible, show

_use_count = torch._C._storage_Use_Count
_NOT_INDEXED = (torch.uint16, torch.uint32, torch.uint64)  # by torch
_GIVEN_AWAY = "_thalweg_given_away"


class _Thread(threading.local):
    capturing = False


_thread = _Thread()


@contextmanager
def capturing() -> Iterator[None]:
    """Forbids this thread to move variables to other buffers: a CUDA graph keeps the addresses of its capture."""
    _thread.capturing = True
    try:
        yield
    finally:
        _thread.capturing = False


class _Before:
    """What restores a variable: its whole value, and the rows that changed while it was not kept, oldest first."""

    __slots__ = ("is_whole", "rows", "value")

    def __init__(self) -> None:
        self.is_whole = False
        self.value: Any = None
        self.rows: list[tuple[torch.Tensor, torch.Tensor]] = []


class VariableResource:
    """One variable: a buffer, or None before initialization, guarded by a lock."""

    __slots__ = (
        *("__weakref__", "before", "captured", "device", "dtype", "layout_pinned", "lock"),
        *("memory_format", "name", "shape", "value"),
    )
    some_have_formats: ClassVar[bool] = False  # a variable of this process has been given a memory format

    def __init__(self, name: str, dtype: DType, shape: Shape, device: torch.device) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.device = device
        self.lock = threading.Lock()
        self.value: Any = None
        self.before: _Before | None = None
        self.memory_format: tuple[int, ...] | None = None  # dimensions in memory, outermost first; None: as given
        self.layout_pinned = False  # compiled steps depend on the memory format
        self.captured: Any = None  # the buffer that captured CUDA graphs use

    def read(self) -> Any:
        """Returns the buffer itself; as long as the caller holds it, writes go to a copy."""
        with self.lock:
            value = self.value
        if value is None:
            raise uninitialized(self)
        return value

    def assign(self, value: Any) -> None:
        """Assigns a new value, sharing its memory until the next write."""
        if _thread.capturing:
            self._overwrite(value)
            return
        is_tensor = isinstance(value, torch.Tensor)
        if is_tensor and value.shape != self.shape and not compatible(self.shape, tuple(value.shape)):
            raise errors.ShapeError(
                "Assign requires shapes of both tensors to match. "
                f"lhs shape= {compact(self.shape)} rhs shape= {compact(tuple(value.shape))}",
                expected=f"a value of shape {show(self.shape)}",
                hint=None,
            )
        while True:
            memory_format = self.memory_format
            stored = self.in_memory_format(value) if is_tensor else np.array(value, dtype=object)
            with self.lock:
                if self.memory_format == memory_format:  # not changed meanwhile
                    if self.before is not None:
                        self._keep(self.before)
                    self.value = stored
                    return

    def in_memory_format(self, value: torch.Tensor) -> torch.Tensor:
        """Returns a value in the memory format of this variable."""
        if self.memory_format is not None:
            value = value.permute(self.memory_format)
        # Memory that came from NumPy belongs to the user, who may change it.
        storage = value.untyped_storage()
        is_ours = storage.resizable() or hasattr(storage, _GIVEN_AWAY)
        value = value.contiguous() if is_ours else value.clone(memory_format=torch.contiguous_format)
        return value if self.memory_format is None else value.permute(_inverse(self.memory_format))

    def set_memory_format(self, memory_format: tuple[int, ...]) -> None:
        """Sets the memory format, unless one is set or compiled code depends on the current one."""
        with self.lock:
            if self.memory_format is not None or self.layout_pinned or self.captured is not None:
                return
            VariableResource.some_have_formats = True
            self.memory_format = memory_format
            if self.value is not None:
                self.value = self.in_memory_format(self.value)

    def pin_layout(self) -> Any:
        """Pins the memory format, for code compiled against it, and returns the buffer."""
        with self.lock:
            self.layout_pinned = True
            return self.value

    def replace(self, value: object) -> None:
        """Replaces the buffer without a check; code that compiles a step inspects it afterwards."""
        self.value = value

    def _overwrite(self, value: torch.Tensor) -> None:
        """Copies a new value into the buffer, whose address a capture must not change."""
        with self.lock:
            buffer = self.writable()
            if buffer.shape != value.shape:
                raise errors.FailedPreconditionError(None, None, f"{self.name!r} needs another buffer")
            buffer.copy_(value)

    def writable(self) -> Any:
        """Returns a buffer to change in place, copied first if it is shared; the caller holds the lock."""
        value = self.value
        if value is None:
            raise uninitialized(self)
        if self.before is not None:
            self._keep(self.before)
        if not isinstance(value, torch.Tensor):
            value = self.value = value.copy()
        elif not _is_unshared(value, _SOLE + (value is self.captured)):
            if _thread.capturing:
                raise errors.FailedPreconditionError(None, None, f"the value of {self.name!r} is referenced elsewhere")
            value = self.value = value.clone()
        return value

    def writable_rows(self, indices: torch.Tensor) -> Any:
        """Returns a buffer of which only these rows will be changed; the caller holds the lock."""
        before = self.before
        if before is None or before.is_whole or not _has_rows(self.value, indices):
            return self.writable()
        indices = indices.flatten().long()
        before.rows.append((indices, self.value.index_select(0, indices)))
        self.before = None  # what else refers to the buffer still has it copied
        try:
            return self.writable()
        finally:
            self.before = before

    def _keep(self, before: _Before) -> None:
        """Keeps the value as it is now; as long as it is kept, changes go to a copy."""
        if not before.is_whole:
            before.is_whole, before.value = True, self.value

    def remember(self) -> None:
        """Lets changes from now on be undone."""
        with self.lock:
            self.before = _Before()

    def forget(self) -> None:
        """Drops what would undo changes."""
        with self.lock:
            self.before = None

    def undo(self) -> None:
        """Restores the value at the call of `remember`; any thread may do so, not only one that computes."""
        with self.lock, torch.inference_mode():
            before, self.before = self.before, None
            if before is None:
                return
            if before.is_whole:
                value, before.value = before.value, None
                is_tensor = isinstance(value, torch.Tensor)
                self.value = self.in_memory_format(value) if is_tensor else value
                del value
            for indices, rows in reversed(before.rows):
                self.writable().index_copy_(0, indices, rows)

    def find_captured(self, changes: bool) -> bool:
        """Returns whether the value is in the captured buffer, moving it there if possible; the caller holds the lock.

        If the step writes the variable (`changes`), the buffer must not be shared either.
        """
        if changes and self.before is not None:
            return False
        if self.captured is None:
            self.captured = self.value
        # Three cases. The value is in the captured buffer: it may be replayed, if nothing else refers to a buffer that
        # the graph writes. The value has moved, since an update found the buffer shared: it is copied back, unless that
        # reference still exists, whose holder would see the buffer change. Or its shape is another one: no replay.
        buffer = self.captured
        if self.value is buffer:
            return buffer is not None and (not changes or _is_unshared(buffer, _SOLE + 1))
        if self.value is None or self.value.shape != buffer.shape or not _is_unshared(buffer, _SOLE):
            return False
        buffer.copy_(self.value)
        self.value = buffer
        return True

    def update(self, change: Callable[..., Any], *args: object) -> Any:
        """Calls `change(buffer, *args)` under the lock, which may change the buffer in place."""
        with self.lock:
            return change(self.writable(), *args)

    def update_rows(self, change: Callable[..., Any], indices: torch.Tensor, *args: object) -> Any:
        """Does the same with a change of some rows, whose indices are the next argument."""
        with self.lock:
            return change(self.writable_rows(indices), indices, *args)

    @property
    def is_initialized(self) -> bool:
        return self.value is not None

    def destroy(self) -> None:
        with self.lock:
            self.value = self.captured = self.before = None

    def __repr__(self) -> str:
        state = "initialized" if self.is_initialized else "uninitialized"
        return f"<variable {self.name!r} {self.dtype.name}{show(self.shape)}, {state}>"


def given_away(value: torch.Tensor) -> torch.Tensor:
    """Returns a tensor of memory that torch did not allocate, but that variables may keep: nothing else changes it."""
    setattr(value.untyped_storage(), _GIVEN_AWAY, True)
    return value


def _has_rows(value: object, indices: torch.Tensor) -> bool:
    """Returns whether rows of a value can be kept; for others, the operation that would change them raises an error."""
    if not isinstance(value, torch.Tensor) or value.dim() == 0 or value.dtype in _NOT_INDEXED:
        return False
    return not indices.numel() or bool(indices.min() >= 0 and indices.max() < len(value))


def _inverse(permutation: tuple[int, ...]) -> list[int]:
    return sorted(range(len(permutation)), key=permutation.__getitem__)


def _is_unshared(buffer: torch.Tensor, references: int) -> bool:
    """Returns whether a buffer has at most this many references, and no other tensor shares its storage."""
    return sys.getrefcount(buffer) <= references and _use_count(buffer.untyped_storage()._cdata) <= 2


def _references(value: object) -> int:
    return sys.getrefcount(value)


def _counts_of_sole_owner() -> tuple[int, int]:
    """Returns the `getrefcount` of a buffer that only the variable references, which depends on the interpreter.

    The first count is that of a local variable, the second that of an argument of a function.
    """
    # The number of references that the interpreter itself holds during such a call differs between its versions. So it
    # is measured once, in the two situations in which buffers are examined, instead of being assumed.
    probe = VariableResource("", dtypes.float32, (), torch.device("cpu"))
    probe.value = object()
    value = probe.value
    return sys.getrefcount(value), _references(value)


_LOCAL, _SOLE = _counts_of_sole_owner()


def all_writable(variables: Sequence[VariableResource]) -> list[Any]:
    """Returns the buffers of several numeric variables, as `writable` does for one; the caller holds their locks.

    An optimizer asks for dozens in every step, so the common case is inlined here.
    """
    buffers: list[Any] = []
    for variable in variables:
        value = variable.value
        if (
            value is None
            or variable.before is not None
            or sys.getrefcount(value) > _LOCAL
            or _use_count(value.untyped_storage()._cdata) > 2
        ):
            del value
            value = variable.writable()
        buffers.append(value)
    return buffers


class locked:
    """Holds the locks of several variables, acquired in one global order so that steps cannot deadlock."""

    __slots__ = ("_locks",)

    def __init__(self, variables: Sequence[VariableResource]) -> None:
        # Deadlock needs a cycle of threads that wait for each other's locks. With one order for all threads, here that
        # of the addresses, the holder of the greatest lock waits for none.
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
