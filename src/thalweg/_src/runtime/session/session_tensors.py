"""tf.get_session_handle and its relatives: values that stay in a session, on their devices, between steps."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike, as_dtype
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.session_tensors import (
    delete_session_tensor_op,
    get_session_handle_op,
    get_session_tensor_op,
)
from thalweg._src.graph.scopes import device as device_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


class TensorHandle(str):
    """The handle of a value that a session keeps, which running `get_session_handle` returns.

    It is a string, so that it can be fed to the placeholder that `get_session_tensor` returns; fed to any other tensor
    it stands for its value.
    """

    _session: Any
    _dtype: DType

    @classmethod
    def of(cls, handle: bytes, dtype: DType, session: object) -> TensorHandle:
        """Returns the handle that a step gave out."""
        result = cls(handle.decode())
        result._dtype, result._session = dtype, session
        return result

    @property
    def handle(self) -> str:
        """The handle as a string."""
        return str(self)

    def eval(self) -> Any:
        """Returns the value."""
        graph = self._session.graph
        with graph.as_default():  # which has the operations that read values of a type once
            holder, tensor = graph.singleton(
                f"{self._dtype.name} of sessions", lambda: get_session_tensor(self, self._dtype)
            )
        return self._session.run(tensor, {holder: str(self)})

    def delete(self) -> None:
        """Deletes the value from the session."""
        graph = self._session.graph
        with graph.as_default():
            holder, deleter = graph.singleton("deleted tensors of sessions", lambda: delete_session_tensor(self))
        self._session.run(deleter, {holder: str(self)})

    def to_numpy_array(self) -> Any:
        """Returns the value."""
        return self.eval()

    def get_raw_handle(self) -> str:
        """Returns the handle as a string; the value is kept until it is deleted."""
        return str(self)


@export("get_session_handle")
def get_session_handle(data: TensorLike, name: str | None = None) -> Tensor:
    """Returns a tensor that, when it is run, keeps the data in the session and gives a handle to it.

    Args:
        data: The tensor whose value is kept.
    """
    tensor = convert_to_tensor(data)
    with device_scope(tensor.device or None):
        return get_session_handle_op(tensor, name=name)


@export("get_session_tensor")
def get_session_tensor(handle: str, dtype: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns a placeholder of a handle, and a tensor of the value that a session keeps under it."""
    holder = placeholder(dtypes.string, [])
    return holder, get_session_tensor_op(holder, dtype=as_dtype(dtype), name=name)


@export("delete_session_tensor")
def delete_session_tensor(handle: str, name: str | None = None) -> tuple[Tensor, Operation]:
    """Returns a placeholder of a handle, and an operation that deletes the value that a session keeps under it."""
    holder = placeholder(dtypes.string, [])
    return holder, delete_session_tensor_op.operation(holder, name=name)
