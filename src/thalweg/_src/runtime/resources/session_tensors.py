"""The values that a session keeps between steps, by handle."""

from __future__ import annotations

import itertools
import threading
from typing import Any, NamedTuple

from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import InvalidArgumentError


class StoredTensor(NamedTuple):
    """A value with its type, which a string array does not state."""

    value: Any
    dtype: DType


class SessionTensors:
    """Values by handle, until they are deleted or the session is closed."""

    def __init__(self) -> None:
        self._tensors: dict[str, StoredTensor] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def add(self, name: str, tensor: StoredTensor) -> str:
        """Keeps a value and returns its handle."""
        with self._lock:
            handle = f"{name};{next(self._numbers)};{tensor.dtype.name}"
            self._tensors[handle] = tensor
        return handle

    def get(self, handle: str, dtype: DType) -> Any:
        """Returns the value of a handle."""
        tensor = self._tensors.get(handle)
        if tensor is None:
            raise _unknown(handle)
        if tensor.dtype is not dtype:
            message = f"the session tensor {handle!r} is of type {tensor.dtype.name}, not {dtype.name}"
            raise InvalidArgumentError(None, None, message)
        return tensor.value

    def delete(self, handle: str) -> None:
        """Deletes the value of a handle."""
        if self._tensors.pop(handle, None) is None:
            raise _unknown(handle)


def _unknown(handle: str) -> InvalidArgumentError:
    message = f"the session has no tensor with the handle {handle!r}: it was deleted, or is that of another session"
    return InvalidArgumentError(None, None, message)
