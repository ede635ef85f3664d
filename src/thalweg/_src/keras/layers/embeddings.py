"""Embedding: vectors for integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, TensorShape, as_shape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import not_equal
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras import regularizers
from thalweg._src.keras.backend.settings import floatx
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.layers.arguments import objects_of
from thalweg._src.keras.layers.core import weight_config
from thalweg._src.keras.serialization import Identifier
from thalweg._src.training.nn.embedding import embedding_lookup


@export("keras.layers.Embedding")
class Embedding(Layer):
    """Replaces each integer in [0, input_dim) by a vector, a row of a table that is trained.

    Args:
        input_dim: Number of vectors: the largest integer plus one.
        output_dim: Size of the vectors.
        embeddings_initializer: Initializer of the vectors.
        embeddings_regularizer: Function from all vectors to a penalty.
        embeddings_constraint: Function that maps the updated vectors to allowed ones.
        mask_zero: Whether steps with the integer 0 are masked.
        input_length: Number of steps of all inputs, if it is known.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Identifier = "uniform",
        embeddings_regularizer: Identifier = None,
        activity_regularizer: Identifier = None,
        embeddings_constraint: Identifier = None,
        mask_zero: bool = False,
        input_length: int | Sequence[int | None] | None = None,
        **kwargs: Any,
    ) -> None:
        lengths = [input_length] if input_length is None or isinstance(input_length, int) else list(input_length)
        if "input_shape" not in kwargs and "batch_input_shape" not in kwargs:
            kwargs["input_shape"] = tuple(lengths)
        kwargs.setdefault("dtype", floatx())
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.input_dim = input_dim
        self.output_dim = output_dim
        objects = objects_of(
            {
                "initializer": embeddings_initializer,
                "regularizer": embeddings_regularizer,
                "constraint": embeddings_constraint,
            }
        )
        self.embeddings_initializer = objects["initializer"]
        self.embeddings_regularizer = objects["regularizer"]
        self.embeddings_constraint = objects["constraint"]
        self.mask_zero = mask_zero
        self.supports_masking = mask_zero
        self.input_length = input_length

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the table."""
        self.embeddings = self.add_weight(
            "embeddings",
            shape=(self.input_dim, self.output_dim),
            initializer=self.embeddings_initializer,
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
        )
        self.built = True

    def compute_mask(self, inputs: TensorLike, mask: TensorLike | None = None) -> Any:
        """Returns where the inputs are not zero, if zero stands for no input."""
        return not_equal(inputs, 0) if self.mask_zero else None

    def call(self, inputs: TensorLike) -> Tensor:
        """Returns the vectors."""
        x = convert_to_tensor(inputs)
        if x.dtype not in (dtypes.int32, dtypes.int64):
            x = cast(x, dtypes.int32)
        return embedding_lookup(self.embeddings, x)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the shape of the inputs with that of a vector added."""
        sizes = list(as_shape(input_shape) or ())
        if self.input_length is not None:
            input_length = self.input_length
            lengths: list[Any] = [input_length] if isinstance(input_length, int) else list(input_length)
            pairs = list(zip(lengths, sizes[1:]))
            if len(lengths) != len(sizes) - 1 or any(None not in pair and pair[0] != pair[1] for pair in pairs):
                raise ValueError(f'"input_length" is {self.input_length}, but received input has shape {input_shape}')
            sizes[1:] = [size if length is None else length for length, size in pairs]
        return TensorShape([*sizes, self.output_dim])

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            **super().get_config(),
            "input_dim": self.input_dim,
            "output_dim": self.output_dim,
            **weight_config(self, "embeddings"),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
            "mask_zero": self.mask_zero,
            "input_length": self.input_length,
        }
