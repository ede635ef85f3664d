"""Attention layers: weighted sums of values, with weights by how well their keys match queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater_equal, logical_and
from thalweg._src.graph.ops.math import tanh
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import softmax
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, shape as shape_of
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.tracking import NestedShapes

# What is subtracted from a score so that its weight is 0; float16 has no larger number than the first.
_MUCH = {dtypes.float16: 65504.0}


class _Attention(Layer):
    """The base class of attention layers; the inputs are queries, values and, if they differ from these, keys."""

    supports_masking = True

    def __init__(self, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.causal = causal

    def _scores(self, query: Tensor, key: Tensor) -> Any:
        """Returns how well each key matches each query, [batch, queries, keys]."""
        raise NotImplementedError("a subclass says how keys match queries")

    def call(self, inputs: Sequence[Any], mask: Sequence[Any] | None = None) -> Tensor:
        """Returns a weighted sum of the values for each query."""
        masks = self._require(inputs, mask)
        query, value, *rest = (convert_to_tensor(x) for x in inputs)
        key = rest[0] if rest else value
        scores = self._scores(query, key)
        allowed = None if masks[1] is None else expand_dims(masks[1], -2)
        if self.causal:
            sizes = shape_of(scores)
            before = expand_dims(greater_equal(expand_dims(range_of(sizes[1]), -1), range_of(sizes[2])), 0)
            allowed = before if allowed is None else logical_and(allowed, before)
        if allowed is not None:
            scores -= _MUCH.get(scores.dtype, 1e9) * (1.0 - cast(allowed, scores.dtype))
        outputs = matmul(softmax(scores), value)
        if masks[0] is not None:
            outputs *= cast(expand_dims(masks[0], -1), outputs.dtype)
        return outputs

    def _require(self, inputs: Sequence[Any], mask: Sequence[Any] | None) -> Any:
        """Returns the masks of queries and values, after checks of the inputs."""
        name = type(self).__name__
        if not isinstance(inputs, list | tuple):
            raise ValueError(
                f"{name} layer must be called on a list of inputs, namely [query, value] or "
                f"[query, value, key]. Received: {inputs}"
            )
        if not 2 <= len(inputs) <= 3:
            raise ValueError(f"{name} layer accepts inputs list of length 2 or 3, received {len(inputs)} inputs")
        if mask is None:
            return None, None
        if not isinstance(mask, list | tuple):
            raise ValueError(f"{name} layer mask must be a list, namely [query_mask, value_mask]. Received: {mask}")
        if not 2 <= len(mask) <= len(inputs):
            raise ValueError(f"{name} layer mask must be a list of length 2, received {len(mask)} masks")
        return mask

    def compute_mask(self, inputs: Sequence[Any], mask: Sequence[Any] | None = None) -> Any:
        """Returns the mask of the queries."""
        return self._require(inputs, mask)[0]

    def compute_output_shape(self, input_shape: NestedShapes) -> Any:
        """Returns the shape of the queries with the size of the values."""
        query, value = (TensorShape(shape).as_list() for shape in input_shape[:2])
        return TensorShape([*query[:-1], value[-1]])

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "causal": self.causal}


@export("keras.layers.Attention")
class Attention(_Attention):
    """Attention by products of queries and keys, as Luong's."""

    def __init__(self, use_scale: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale
        self.scale: Any = None

    def build(self, input_shape: NestedShapes) -> None:
        """Creates the factor of the scores, if there is one."""
        if self.use_scale:
            self.scale = self.add_weight("scale", shape=(), initializer="ones", trainable=True)
        self.built = True

    def _scores(self, query: Tensor, key: Tensor) -> Any:
        scores = matmul(query, key, transpose_b=True)
        return scores if self.scale is None else scores * self.scale

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "use_scale": self.use_scale}


@export("keras.layers.AdditiveAttention")
class AdditiveAttention(_Attention):
    """Attention by the hyperbolic tangent of sums of queries and keys, as Bahdanau's."""

    def __init__(self, use_scale: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale
        self.scale: Any = None

    def build(self, input_shape: NestedShapes) -> None:
        """Creates the factors of the features, if there are such."""
        if self.use_scale:
            size = TensorShape(input_shape[1]).as_list()[-1]
            self.scale = self.add_weight("scale", shape=[size], initializer="glorot_uniform", trainable=True)
        self.built = True

    def _scores(self, query: Tensor, key: Tensor) -> Any:
        features = tanh(expand_dims(query, -2) + expand_dims(key, -3))
        return reduce_sum(features if self.scale is None else features * self.scale, axis=-1)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "use_scale": self.use_scale}
