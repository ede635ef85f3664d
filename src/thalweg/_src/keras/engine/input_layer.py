"""Input: the symbolic tensor that a model begins with, and its layer."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.sparse import sparse_placeholder
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.backend import state
from thalweg._src.keras.backend.settings import floatx
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.node import Node
from thalweg._src.keras.engine.tracking import NestedShapes


@export("keras.layers.InputLayer")
class InputLayer(Layer):
    """The layer of an input of a model: a placeholder, or a given tensor.

    Args:
        input_shape: Shape of an example.
        batch_size: Number of examples of a batch, None for any.
        dtype: Type of the inputs.
        input_tensor: A tensor to use in the place of a placeholder.
        sparse: Whether the inputs are sparse tensors.
        name: Name of the layer.
        **kwargs: `batch_input_shape`.
    """

    _object_identifier = "_tf_keras_input_layer"

    def __init__(
        self,
        input_shape: NestedShapes = None,
        batch_size: int | None = None,
        dtype: DTypeLike | None = None,
        input_tensor: Tensor | None = None,
        sparse: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        whole = kwargs.pop("batch_input_shape", None)
        kwargs = {key: value for key, value in kwargs.items() if value or key not in ("ragged", "optional")}
        if kwargs:
            raise ValueError("Unrecognized keyword arguments:", kwargs.keys())
        if whole is None and input_shape is not None:
            whole = (batch_size, *input_shape)
        if input_tensor is not None:
            require_members("tensor", input_tensor, "a tensor or a variable", "dtype", "get_shape")
        kind = dtypes.as_dtype(dtype or (floatx() if input_tensor is None else input_tensor.dtype)).base_dtype
        super().__init__(name=name or f"input_{state.get_uid('input')}", dtype=kind)
        self.sparse = sparse
        self.batch_size = batch_size
        self.supports_masking = True
        self.built = True
        self.is_placeholder = input_tensor is None
        if input_tensor is None:
            with state.get_graph().as_default():
                make: Any = sparse_placeholder if sparse else placeholder
                input_tensor = make(kind, whole, name=self.name)
        else:
            whole = tuple(input_tensor.shape.as_list())
        self._batch_input_shape = None if whole is None else tuple(whole)
        Node(self, [], input_tensor, {})

    @property
    def input(self) -> Any:
        """The symbolic tensor, which is the output too."""
        return self.output

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            "batch_input_shape": self._batch_input_shape,
            "dtype": self.dtype,
            "sparse": self.sparse,
            "name": self.name,
        }


@export("keras.Input", "keras.layers.Input")
def Input(
    shape: ShapeLike = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
    tensor: Tensor | None = None,
    **kwargs: Any,
) -> Tensor:
    """Returns a symbolic tensor, from which models are made; `shape` is without the batch.

    Args:
        shape: Shape of an example.
        batch_size: Number of examples of a batch, None for any.
        name: Name of the input.
        dtype: Type of the inputs.
        sparse: Whether the inputs are sparse tensors.
        tensor: A tensor to use in the place of a placeholder.
        **kwargs: `batch_shape`.
    """
    if "batch_shape" in kwargs:
        batch_size, *rest = kwargs.pop("batch_shape")
        shape = tuple(rest)
    if kwargs:
        raise ValueError("Unrecognized keyword arguments:", kwargs.keys())
    if shape is None and tensor is None:
        raise ValueError(
            "Please provide to Input either a `shape` or a `tensor` argument; `shape` leaves out the batch."
        )
    if isinstance(shape, int):
        shape = (shape,)
    layer = InputLayer(shape, batch_size, dtype, tensor, sparse, name)
    symbol: Tensor = layer._inbound_nodes[0].outputs
    return symbol
