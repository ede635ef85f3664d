"""Layers without variables of their own: maxout, spatial softmax, bag of words, sequences of images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import add_arg_scope
from thalweg._src.compat.contrib.framework.variables import layer_scope, model_variable
from thalweg._src.compat.contrib.layers.outputs import collect_named_outputs, get_variable_collections
from thalweg._src.graph.autodiff.custom_gradient import custom_gradient
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import not_equal
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.gather import gather_nd
from thalweg._src.graph.ops.math import minimum, rsqrt, square
from thalweg._src.graph.ops.nn import softmax
from thalweg._src.graph.ops.pad_tile import meshgrid
from thalweg._src.graph.ops.reduction import reduce_max, reduce_mean, reduce_sum
from thalweg._src.graph.ops.reshape import reshape, shape as shape_of, transpose
from thalweg._src.graph.ops.sequences import linspace
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.embedding import embedding_lookup, embedding_lookup_sparse
from thalweg._src.training.variables.custom_gradients import recompute_grad as recomputed
from thalweg._src.training.variables.initializers import Constant, Ones
from thalweg._src.training.variables.variable_scope import ReuseMode, VariableScope


@export("contrib.layers.maxout", "contrib.slim.maxout")
@add_arg_scope
def maxout(inputs: TensorLike, num_units: int, axis: int = -1, scope: str | None = None) -> Tensor:
    """Returns the maximum of each group along an axis, whose size becomes num_units.

    Args:
        num_units: Size of the axis afterwards.
        axis: The axis of the units.
    """
    with name_scope(scope, "MaxOut", [inputs]):
        inputs = convert_to_tensor(inputs)
        sizes: list[Any] = inputs.get_shape().as_list()
        if not -len(sizes) <= axis < len(sizes):
            raise ValueError(f"axis: expected one of the {len(sizes)} axes of the inputs, received {axis}")
        features = sizes[axis]
        if features is None:
            raise ValueError(f"inputs: the size of axis {axis} must be known, the shape is {inputs.get_shape()}")
        if features % num_units:
            raise ValueError(f"number of features({features}) is not a multiple of num_units({num_units})")
        dynamic = shape_of(inputs) if None in sizes else None
        sizes = [dynamic[i] if size is None else size for i, size in enumerate(sizes)]  # type: ignore[index]
        sizes[axis] = num_units
        return reduce_max(reshape(inputs, [*sizes, features // num_units]), -1)


@export("contrib.layers.spatial_softmax", "contrib.slim.spatial_softmax")
@add_arg_scope
def spatial_softmax(
    features: TensorLike,
    temperature: TensorLike | None = None,
    name: str | None = None,
    variables_collections: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Tensor:
    """Returns the expected coordinates in [-1, 1] under the softmax of each channel, [batch, 2 * channels].

    Args:
        features: Images [batch, height, width, channels].
        temperature: The temperature; lower ones are more selective.
        data_format: "NHWC" or "NCHW".
    """
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with layer_scope(name, "spatial_softmax", features):
        features = convert_to_tensor(features)
        features.shape.assert_has_rank(4)
        channels = features.shape[3 if data_format == "NHWC" else 1].value
        if channels is None:
            raise ValueError(f"features: the number of channels must be known, the shape is {features.shape}")
        first = 1 if data_format == "NHWC" else 2
        height, width = (features.shape[first + i].value or shape_of(features)[first + i] for i in (0, 1))
        heat = model_variable(
            "temperature",
            shape=(),
            dtype=dtypes.float32,
            initializer=Ones() if temperature is None else Constant(temperature),
            collections=get_variable_collections(variables_collections, "temperature") if trainable else None,
            trainable=trainable,
        )
        if data_format == "NHWC":
            features = transpose(features, [0, 3, 1, 2])
        attention = softmax(reshape(features, [-1, height * width]) / heat)
        places = meshgrid(linspace(-1.0, 1.0, height), linspace(-1.0, 1.0, width), indexing="ij")
        expected = [reduce_sum(reshape(p, [height * width]) * attention, [1], keepdims=True) for p in places]
        result = reshape(concat(expected, 1), [-1, 2 * channels])
        result.set_shape([features.shape[0].value, 2 * channels])
        return result


@export("contrib.layers.bow_encoder", "contrib.slim.bow_encoder")
def bow_encoder(
    ids: TensorLike | SparseTensor,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Callable[..., Any] | None = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    reuse: bool | ReuseMode | None = None,
) -> Tensor:
    """Returns the mean of the embeddings of each row; with sparse_lookup, ids of 0 are ignored."""
    with layer_scope(scope, "bow_encoder", ids, reuse):
        table = model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if sparse_lookup:
            sparse = ids if isinstance(ids, SparseTensor) else dense_to_sparse(ids)
            return embedding_lookup_sparse([table], sparse, None, combiner="mean")
        if isinstance(ids, SparseTensor):
            raise TypeError(f"ids are expected to be dense Tensor, got: {ids}")
        return reduce_mean(embedding_lookup(table, ids), 1)


@export("contrib.layers.dense_to_sparse", "contrib.slim.dense_to_sparse")
@add_arg_scope
def dense_to_sparse(
    tensor: TensorLike,
    eos_token: TensorLike = 0,
    outputs_collections: Sequence[str] | None = None,
    scope: str | None = None,
) -> SparseTensor:
    """Returns the elements that differ from a token as a sparse tensor."""
    with name_scope(scope, "dense_to_sparse", [tensor]) as opened:
        tensor = convert_to_tensor(tensor)
        indices = where(not_equal(tensor, convert_to_tensor(eos_token, tensor.dtype)))
        sparse = SparseTensor(indices, gather_nd(tensor, indices), shape_of(tensor, out_type=dtypes.int64))
        return collect_named_outputs(outputs_collections, opened, sparse)  # type: ignore[no-any-return]


@export("contrib.layers.images_to_sequence", "contrib.slim.images_to_sequence")
@add_arg_scope
def images_to_sequence(
    inputs: Any, data_format: str = "NHWC", outputs_collections: Sequence[str] | None = None, scope: str | None = None
) -> Tensor:
    """Converts rows of images to sequences along the width, [width, batch * height, channels]."""
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with name_scope(scope, "ImagesToSequence", [inputs]) as opened:
        inputs = convert_to_tensor(inputs)
        if data_format == "NCHW":
            inputs = transpose(inputs, [0, 2, 3, 1])
        _, _, width, depth = inputs.get_shape().as_list()
        sizes = shape_of(inputs)
        rows = reshape(inputs, [sizes[0] * sizes[1], sizes[2] if width is None else width, depth])
        return collect_named_outputs(outputs_collections, opened, transpose(rows, [1, 0, 2]))  # type: ignore[no-any-return]


@export("contrib.layers.sequence_to_images", "contrib.slim.sequence_to_images")
@add_arg_scope
def sequence_to_images(
    inputs: Any,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: Sequence[str] | None = None,
    scope: str | None = None,
) -> Tensor:
    """Converts sequences [width, batch * height, channels] to images."""
    with name_scope(scope, "SequenceToImages", [inputs]) as opened:
        inputs = convert_to_tensor(inputs)
        width, count, depth = inputs.get_shape().as_list()
        width = shape_of(inputs)[0] if width is None else width
        images = reshape(inputs, [width, -1 if count is None else count // height, height, depth])
        order = [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3]
        return collect_named_outputs(outputs_collections, opened, transpose(images, order))  # type: ignore[no-any-return]


@export("contrib.layers.poincare_normalize", "contrib.slim.poincare_normalize")
@add_arg_scope
def poincare_normalize(x: TensorLike, axis: int = 1, epsilon: float = 1e-5, name: str | None = None) -> Tensor:
    """Projects vectors outside the unit ball into it.

    Args:
        epsilon: Margin to the unit sphere.
    """
    with name_scope(name, "poincare_normalize", [x]):
        x = convert_to_tensor(x, name="x")
        inverse = rsqrt(reduce_sum(square(x), axis, keepdims=True))
        return x * minimum((1.0 - epsilon) * inverse, cast(1.0, x.dtype))


@export("contrib.layers.scale_gradient", "contrib.slim.scale_gradient")
def scale_gradient(inputs: TensorLike, gradient_multiplier: TensorLike) -> Tensor:
    """Returns the inputs unchanged; their gradient is multiplied by a number."""

    @custom_gradient
    def scaled(x: Tensor) -> Any:
        return x, lambda grad: grad * cast(gradient_multiplier, grad.dtype)

    result: Tensor = scaled(inputs)
    return result


@export("contrib.layers.recompute_grad")
def recompute_grad(
    fn: Callable[..., Any] | None = None, use_data_dep: object = None, tupleize_grads: bool = False
) -> Callable[..., Any]:
    """Returns a function whose gradient recomputes it, or a decorator.

    The second computation always waits for the gradients; the other arguments therefore have no effect.

    Args:
        fn: The function to wrap; None returns a decorator.
        use_data_dep: Accepted for compatibility; recomputation always waits for the gradient.
        tupleize_grads: Accepted for compatibility; recomputation always waits for the gradient.
    """
    return recomputed if fn is None else recomputed(fn)
