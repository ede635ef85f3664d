"""Lists that loops on tensors append to: a TensorArray that grows, and its length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.graph.control_flow.structures import value_of
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.convert import register_tensor_conversion_function
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.tensor import Tensor


class _Array:
    """The array of a list, created where the list was when the type of its elements is known."""

    def __init__(self) -> None:
        self._graph = get_default_graph()
        self._context = self._graph.scopes.context
        self._array: TensorArray | None = None

    def at(self, flow: Tensor, dtype: DType) -> TensorArray:
        # The array is a resource of one graph. It is created where the list was, before the loop, when the first
        # element tells its type: an array created in an iteration would be another one in each.
        if get_default_graph() is not self._graph:
            raise TypeError(
                "A loop over a dataset cannot append to a list: its body is a function of its own. Transform the "
                "dataset with map and batch, or iterate over a tensor."
            )
        if self._array is None:
            with self._graph.control_dependencies(None), self._graph.control_flow(self._context):
                self._array = TensorArray(dtype, size=0, dynamic_size=True, clear_after_read=False)
        if self._array.dtype is not dtype:
            raise TypeError(f"A list of {self._array.dtype.name} tensors cannot contain one of {dtype.name}.")
        return self._array.with_flow(flow)

    @property
    def dtype(self) -> DType:
        return dtypes.float32 if self._array is None else self._array.dtype


class TensorList:
    """A list of tensors whose length is known only when a step runs."""

    def __init__(self, elements: Iterable[Any] = ()) -> None:
        # Shared, since a list before and after an append is one array; versions differ in flow and length, and these
        # two are the loop's variables.
        self.array = _Array()  # shared by all versions of the list
        self._flow: Tensor = constant(0.0, name="list_flow")
        self._length: Tensor = constant(0, name="list_length")
        for element in elements:
            self.append(element)

    def append(self, value: object) -> None:
        """Adds an element at the end."""
        tensor = value_of(value)
        self._flow = self.array.at(self._flow, tensor.dtype).write(self._length, tensor).flow
        self._length = self._length + 1

    def __getitem__(self, index: Any) -> Tensor:
        if isinstance(index, slice):
            return self.stack()[index]
        if isinstance(index, int):
            index = self._length + index if index < 0 else constant(index)
        return self.array.at(self._flow, self.array.dtype).read(cast(index, dtypes.int32))

    def stack(self) -> Tensor:
        """Returns all elements as one tensor."""
        return self.array.at(self._flow, self.array.dtype).stack()

    def length(self) -> Tensor:
        """Returns the number of elements."""
        return self._length

    def tensors(self) -> list[Tensor]:
        """Returns the tensors that change when an element is added."""
        return [self._flow, self._length]

    def renewed(self, tensors: Sequence[Tensor]) -> TensorList:
        """Returns the same list with other tensors."""
        other = TensorList.__new__(TensorList)
        other.array = self.array
        other._flow, other._length = tensors
        return other

    def __len__(self) -> NoReturn:
        raise TypeError("The length of this list is a tensor, since a loop on tensors has appended to it.")

    def __iter__(self) -> Iterator[Tensor]:
        raise TypeError(
            "A loop on tensors has appended to this list: iterate over it in a converted function, or stack it with "
            "tf.convert_to_tensor."
        )

    def __getattr__(self, name: str) -> NoReturn:
        hint = "a list that a loop on tensors has appended to supports append, indexing, len and iteration."
        raise AttributeError(f"{name!r}: {hint} Use a tf.TensorArray for more.")


def _convert(value: TensorList, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    tensor = value.stack()
    return tensor if dtype is None or dtype.is_compatible_with(tensor.dtype) else NotImplemented


register_tensor_conversion_function(TensorList, _convert)
