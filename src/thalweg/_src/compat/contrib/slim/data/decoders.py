"""TFExampleDecoder and its item handlers: from serialized Examples to the items of a dataset."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.control_flow.functional import map_fn
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, logical_or
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.decoding import decode_raw
from thalweg._src.graph.ops.image_coding import decode_image
from thalweg._src.graph.ops.reduction import reduce_prod
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape as shape_of, transpose
from thalweg._src.graph.ops.sparse import sparse_tensor_to_dense
from thalweg._src.graph.ops.sparse_shaping import sparse_reshape
from thalweg._src.graph.sparse_tensor import SparseTensor as Sparse
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.input.features import FixedLenFeature, parse_single_example
from thalweg._src.training.nn.lookup import LookupInterface

Tensors = Mapping[str, Any]


class DataDecoder(ABC):
    """The base class of decoders."""

    @abstractmethod
    def decode(self, data: TensorLike, items: Sequence[str] | None = None) -> list[Any]:
        """Returns the named items of the data, by default all."""

    @abstractmethod
    def list_items(self) -> list[str]:
        """Returns the names of the items."""


@export("contrib.slim.tfexample_decoder.TFExampleDecoder")
class TFExampleDecoder(DataDecoder):
    """Decodes the items of a dataset from a serialized Example."""

    def __init__(self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]) -> None:
        self._keys_to_features = keys_to_features
        self._items_to_handlers = items_to_handlers

    def list_items(self) -> list[str]:
        """Returns the names of the items."""
        return list(self._items_to_handlers)

    def decode(self, serialized_example: TensorLike, items: Sequence[str] | None = None) -> list[Any]:
        """Returns the named items, by default all."""
        example = parse_single_example(serialized_example, self._keys_to_features)
        for key, feature in sorted(self._keys_to_features.items()):
            if isinstance(feature, FixedLenFeature):
                example[key] = reshape(example[key], feature.shape)
        handlers = [self._items_to_handlers[item] for item in items or self._items_to_handlers]
        return [handler.tensors_to_item({key: example[key] for key in handler.keys}) for handler in handlers]


@export("contrib.slim.tfexample_decoder.ItemHandler")
class ItemHandler(ABC):
    """The base class of handlers that turn features into an item."""

    keys = ReadOnly[list[str]]("The keys of the features.")

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = list(keys) if isinstance(keys, list | tuple) else [keys]

    @abstractmethod
    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """Returns the item."""


@export("contrib.slim.tfexample_decoder.ItemHandlerCallback")
class ItemHandlerCallback(ItemHandler):
    """An item computed by a function from a dictionary of features."""

    def __init__(self, keys: Sequence[str], func: Callable[[Tensors], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        return self._func(keys_to_tensors)


@export("contrib.slim.tfexample_decoder.BoundingBox")
class BoundingBox(ItemHandler):
    """Bounding boxes [number of boxes, 4] from four features, one per side.

    Args:
        keys: Names of the four sides.
        prefix: Prefix of the keys.
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        sides = list(keys or ("ymin", "xmin", "ymax", "xmax"))
        if len(sides) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(sides)}")
        super().__init__([f"{prefix}{side}" for side in sides])

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        sides = [keys_to_tensors[key] for key in self._keys]
        return transpose(concat([expand_dims(_values(side), 0) for side in sides], 0))


def _values(tensor: TensorLike) -> Any:
    return tensor.values if isinstance(tensor, Sparse) else tensor


@export("contrib.slim.tfexample_decoder.Tensor")
class Tensor(ItemHandler):
    """A feature as a dense tensor, reshaped to a given shape or one from other features."""

    def __init__(
        self,
        tensor_key: str,
        shape_keys: Sequence[str] | None = None,
        shape: Sequence[int] | None = None,
        default_value: TensorLike = 0,
    ) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        self._shape_keys = [shape_keys] if isinstance(shape_keys, str) else list(shape_keys or ())
        super().__init__([tensor_key, *self._shape_keys])
        self._tensor_key = tensor_key
        self._shape = shape
        self._default_value = default_value

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape  # type: Any, Any
        if self._shape_keys:
            sizes = [_values(keys_to_tensors[key]) for key in self._shape_keys]
            shape = reshape(stack(sizes), [-1])
        if isinstance(tensor, Sparse):
            if shape is not None:
                tensor = sparse_reshape(tensor, shape)
            return sparse_tensor_to_dense(tensor, self._default_value)
        return tensor if shape is None else reshape(tensor, shape)


@export("contrib.slim.tfexample_decoder.LookupTensor")
class LookupTensor(Tensor):
    """A feature looked up in a table.

    Args:
        table: The table.
    """

    def __init__(
        self,
        tensor_key: str,
        table: LookupInterface,
        shape_keys: Sequence[str] | None = None,
        shape: Sequence[int] | None = None,
        default_value: TensorLike = "",
    ) -> None:
        super().__init__(tensor_key, shape_keys, shape, default_value)
        self._table = table

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


@export("contrib.slim.tfexample_decoder.BackupHandler")
class BackupHandler(ItemHandler):
    """The item of one handler, or of another if that is empty.

    Args:
        handler: The handler.
        backup: The handler used if the first item is empty.
    """

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        require_kind("handler", handler, ItemHandler, "an ItemHandler")
        require_kind("backup", backup, ItemHandler, "an ItemHandler")
        super().__init__([*handler.keys, *backup.keys])
        self._handler = handler
        self._backup = backup

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        item = self._handler.tensors_to_item(keys_to_tensors)
        return cond(
            equal(reduce_prod(shape_of(item)), 0),
            lambda: self._backup.tensors_to_item(keys_to_tensors),
            lambda: item,
        )


@export("contrib.slim.tfexample_decoder.SparseTensor")
class SparseTensor(ItemHandler):
    """A sparse tensor from features for its indices and its values."""

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: ShapeLike = None,
        densify: bool = False,
        default_value: TensorLike = 0,
    ) -> None:
        self._indices_key, self._values_key = indices_key or "indices", values_key or "values"
        self._shape_key, self._shape = shape_key, shape
        self._densify, self._default_value = densify, default_value
        super().__init__([key for key in (self._indices_key, self._values_key, shape_key) if key])

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        indices = _values(keys_to_tensors[self._indices_key])
        values = _values(keys_to_tensors[self._values_key])
        shape = _values(keys_to_tensors[self._shape_key]) if self._shape_key else self._shape
        columns = expand_dims(cast(indices, dtypes.int64), 1)
        sparse = Sparse(columns, values, shape_of(values, out_type=dtypes.int64) if shape is None else shape)
        return sparse_tensor_to_dense(sparse, self._default_value) if self._densify else sparse


@export("contrib.slim.tfexample_decoder.Image")
class Image(ItemHandler):
    """An image, decoded in the format that another feature names: an image file, or raw values."""

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Sequence[int] | None = None,
        channels: int = 3,
        dtype: DTypeLike = dtypes.uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        self._image_key, self._format_key = image_key or "image/encoded", format_key or "image/format"
        super().__init__([self._image_key, self._format_key])
        self._shape = shape
        self._channels = channels
        self._dtype = dtypes.as_dtype(dtype)
        self._repeated = repeated

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        data, kind = keys_to_tensors[self._image_key], keys_to_tensors[self._format_key]
        if self._repeated:
            return map_fn(lambda one: self._decoded(one, kind), data, dtype=self._dtype)
        return self._decoded(data, kind)

    def _decoded(self, data: Any, kind: Any) -> Any:
        image = cond(
            logical_or(equal(kind, "raw"), equal(kind, "RAW")),
            lambda: self._raw(data),
            lambda: cast(decode_image(data, channels=self._channels), self._dtype),
        )
        if self._shape is None:
            image.set_shape([None, None, self._channels])
            return image
        return reshape(image, self._shape)

    def _raw(self, data: Any) -> Any:
        flat = decode_raw(data, self._dtype)
        return flat if self._shape is None else reshape(flat, self._shape)
