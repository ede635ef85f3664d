"""Convolutions over one, two and three spatial dimensions, also transposed and dilated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, ShapeLike, merge, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import Infer, OpDef, op
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.reduction import one_of
from thalweg._src.graph.ops.reshape import expand_dims, squeeze
from thalweg._src.graph.ops.shape_functions import require, require_sizes, same_dimension, with_rank
from thalweg._src.graph.ops.windows import Sizes, Window, full_sequence, has_channels_first, padding_attrs, window_of
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_FLOATS = frozenset((dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64))


def _filter(c: Inference, index: int, rank: int) -> Sizes:
    """Returns the sizes of a filter that is an input, or whose sizes are."""
    if c.definition.inputs[index].name == "filter_sizes":
        require_sizes(c, index)
        sizes = c.shape_value(index)
        require(sizes is None or len(sizes) == rank + 2, f"filter_sizes is {show(sizes)}", f"{rank + 2} sizes")
        return sizes if sizes is not None else (None,) * (rank + 2)
    sizes = with_rank(c, index, rank + 2)
    assert sizes is not None
    return sizes


def _features(window: Window, channels: int | None, filter: Sizes, depthwise: bool) -> int | None:
    """Returns the number of output channels, after checking the input channels against the filter."""
    taken, out = filter[-2:]
    require(taken != 0 and out != 0, f"the filter is {show(filter)}", expected="a filter that is not empty")
    if depthwise:
        taken = same_dimension(channels, taken, "channels of input and filter", "filter.shape[2] == input channels")
        return None if taken is None or out is None else taken * out
    if channels is None or taken is None:
        return out
    hint = None
    if out == channels:
        hint = "a filter has the shape [height, width, channels in, channels out]"
    require(
        channels % taken == 0 and channels > 0,
        f"Depth of input ({channels}) is not a multiple of input depth of filter ({taken})",
        expected="as many input channels as the filter takes, or a multiple",
        hint=hint,
        in_step=f"input depth must be evenly divisible by filter depth: {channels} vs {taken}",
    )
    groups = channels // taken
    require(out is None or out % groups == 0, f"{out} output channels cannot be split into {groups} groups")
    return out


def _convolved(window: Window, x: Sizes, filter: Sizes, depthwise: bool) -> Sizes:
    features = _features(window, window.channels(x), filter, depthwise)
    return window.shape(x[0], window.output(window.spatial(x), filter[:-2]), features)


def _forward(depthwise: bool) -> Infer:
    def infer(c: Inference) -> Sequence[Shape]:
        window = window_of(c.attrs)
        x = with_rank(c, 0, window.rank + 2)
        assert x is not None
        return [_convolved(window, x, _filter(c, 1, window.rank), depthwise)]

    return infer


def _backprop_input(depthwise: bool) -> Infer:
    def infer(c: Inference) -> Sequence[Shape]:
        window = window_of(c.attrs)
        rank = window.rank + 2
        require_sizes(c, 0)
        sizes, grad = c.shape_value(0), with_rank(c, 2, rank)
        require(sizes is None or len(sizes) == rank, f"input_sizes is {show(sizes)}", expected=f"{rank} sizes")
        sizes = sizes if sizes is not None else (None,) * rank
        expected = _convolved(window, sizes, _filter(c, 1, window.rank), depthwise)
        grad = _agree(expected, grad)
        return [(grad[0], *sizes[1:])]

    return infer


def _backprop_filter(depthwise: bool) -> Infer:
    def infer(c: Inference) -> Sequence[Shape]:
        window = window_of(c.attrs)
        x, grad = with_rank(c, 0, window.rank + 2), with_rank(c, 2, window.rank + 2)
        filter = _filter(c, 1, window.rank)
        assert x is not None
        _agree(_convolved(window, x, filter, depthwise), grad)
        return [filter]

    return infer


def _agree(expected: Shape, grad: Shape) -> Sizes:
    try:
        result = merge(expected, grad)
    except ValueError:
        result = None
    require(result is not None, f"out_backprop is {show(grad)}", expected=f"out_backprop of {show(expected)}")
    assert result is not None
    return result


_PADDING = attr.string("SAME", "VALID", "EXPLICIT")
_ATTRS_2D: dict[str, Any] = {
    "strides": attr.integers(),
    "padding": _PADDING,
    "explicit_paddings": (),
    "data_format": attr.string("NHWC", "NCHW", default="NHWC"),
    "dilations": (1, 1, 1, 1),
}
_FULL_2D: dict[str, Any] = {"strides": attr.integers(), "use_cudnn_on_gpu": True, **_ATTRS_2D}
_FULL_3D: dict[str, Any] = {
    "T": _FLOATS,
    "strides": attr.integers(5),
    "padding": attr.string("SAME", "VALID"),
    "data_format": attr.string("NDHWC", "NCDHW", default="NDHWC"),
    "dilations": (1, 1, 1, 1, 1),
}
_FORWARD = "input: T, filter: T -> output: T"
_TO_INPUT = "input_sizes: int32, filter: T, out_backprop: T -> output: T"
_TO_FILTER = "input: T, filter_sizes: int32, out_backprop: T -> output: T"


def _family(name: str, depthwise: bool, suffix: str, attrs: dict[str, Any], *signatures: str) -> list[OpDef]:
    """Declares a convolution and its gradients with respect to input and filter."""
    kind = "a depthwise convolution" if depthwise else "a convolution"
    infers = (_forward(depthwise), _backprop_input(depthwise), _backprop_filter(depthwise))
    names = (name, f"{name}BackpropInput{suffix}", f"{name}BackpropFilter{suffix}")
    docs = (
        f"Computes {kind}.",
        f"Computes the gradient of {kind} with respect to its input.",
        f"Computes the gradient of {kind} with respect to its filter.",
    )
    hosts = ("", "input_sizes", "filter_sizes")
    types_of: tuple[dict[str, Any], ...] = ({}, {}, {"T": _FLOATS})
    return [
        op(n, signature, infer=infer, host=host, traceable=True, doc=text, **(attrs | types))
        for n, signature, infer, host, text, types in zip(names, signatures, infers, hosts, docs, types_of)
    ]


conv2d_op, conv2d_backprop_input_op, conv2d_backprop_filter_op = _family(
    "Conv2D", False, "", {"T": _FLOATS | {dtypes.int32}, **_FULL_2D}, _FORWARD, _TO_INPUT, _TO_FILTER
)
depthwise_op, depthwise_backprop_input_op, depthwise_backprop_filter_op = _family(
    "DepthwiseConv2dNative", True, "", {"T": _FLOATS, **_ATTRS_2D}, _FORWARD, _TO_INPUT, _TO_FILTER
)
conv3d_op = op("Conv3D", _FORWARD, infer=_forward(False), doc="Computes a 3-D convolution.", **_FULL_3D)
conv3d_backprop_input_op = op(
    "Conv3DBackpropInputV2",
    "input_sizes: Tshape, filter: T, out_backprop: T -> output: T",
    infer=_backprop_input(False),
    host="input_sizes",
    **_FULL_3D,
    Tshape=attr.types(dtypes.INDEX, dtypes.int32),
    doc="Computes the gradient of a 3-D convolution with respect to its input.",
)
conv3d_backprop_filter_op = op(
    "Conv3DBackpropFilterV2",
    _TO_FILTER,
    infer=_backprop_filter(False),
    host="filter_sizes",
    **_FULL_3D,
    doc="Computes the gradient of a 3-D convolution with respect to its filter.",
)
fused_conv2d_op = nondifferentiable_op(
    "_FusedConv2D",
    "input: T, filter: T, args: list(TArgs), host_args: num_host_args*float32 -> output: T",
    "Computes a convolution followed by a bias and possibly an activation; created by the optimizer.",
    infer=_forward(False),
    T=_FLOATS,
    TArgs=attr.type_list(0, ()),
    num_args=attr.integer(0),
    num_host_args=attr.integer(0, 0),
    filter_format=attr.string("HWIO", default="HWIO"),
    fused_ops=attr.AttrDef("list(string)", ()),
    epsilon=0.0001,
    leakyrelu_alpha=0.2,
    host="host_args",
    **_FULL_2D,
    traceable=True,
)


def attrs_of(rank: int, data_format: str | None, strides: Any, padding: Any, dilations: Any = None) -> dict[str, Any]:
    """Returns the attributes of a convolution, normalized from the forms that callers may use."""
    first = has_channels_first(data_format)
    layouts = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[rank]
    return {
        "strides": full_sequence(strides, rank, first, "strides"),
        "dilations": full_sequence(dilations, rank, first, "dilations"),
        "data_format": data_format or layouts[first],
        **padding_attrs(padding, rank),
    }


@export("nn.conv2d")
def conv2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Convolves images with a filter of shape [height, width, input channels, output channels].

    Args:
        input: Images [batch, height, width, channels].
        filter: The kernel [height, width, channels in, channels out].
        padding: "SAME", "VALID", or the numbers of zeros before and after each dimension.
        filters: Another name of `filter`.
    """
    filter = one_of("filters", filters, "filter", filter)
    settings = attrs_of(2, data_format, strides, padding, dilations)
    return conv2d_op(input, filter, use_cudnn_on_gpu=use_cudnn_on_gpu, name=name, **settings)


@export("nn.conv2d_backprop_input")
def conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike | None = None,
    out_backprop: TensorLike | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Computes the gradient of conv2d with respect to its input.

    Args:
        filters: Another name of `filter`.
    """
    filter = one_of("filters", filters, "filter", filter)
    settings = attrs_of(2, data_format, strides, padding, dilations)
    return conv2d_backprop_input_op(
        input_sizes, filter, out_backprop, use_cudnn_on_gpu=use_cudnn_on_gpu, name=name, **settings
    )


@export("nn.conv2d_backprop_filter")
def conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Computes the gradient of conv2d with respect to its filter."""
    settings = attrs_of(2, data_format, strides, padding, dilations)
    return conv2d_backprop_filter_op(
        input, filter_sizes, out_backprop, use_cudnn_on_gpu=use_cudnn_on_gpu, name=name, **settings
    )


@export("nn.conv2d_transpose")
def conv2d_transpose(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    output_shape: ShapeLike | TensorLike = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Computes a transposed convolution: the gradient of conv2d with respect to an input of the given shape.

    Args:
        value: The input.
        filter: The kernel [spatial dimensions, channels out, channels in].
        padding: "SAME", "VALID", or the numbers of zeros before and after each dimension.
        input: Another name of `value`.
        filters: Another name of `filter`.
    """
    value = one_of("input", input, "value", value)
    filter = one_of("filters", filters, "filter", filter)
    with name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as scope:
        settings = attrs_of(2, data_format, strides, padding, dilations)
        return conv2d_backprop_input_op(output_shape, filter, value, name=scope, **settings)


@export("nn.conv3d")
def conv3d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] | None = None,
    data_format: str | None = "NDHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Convolves volumes with a filter of shape [depth, height, width, input channels, output channels].

    Args:
        input: Volumes [batch, depth, height, width, channels].
        filter: The kernel [depth, height, width, channels in, channels out].
        data_format: "NDHWC" or "NCDHW".
        filters: Another name of `filter`.
    """
    filter = one_of("filters", filters, "filter", filter)
    return conv3d_op(input, filter, name=name, **attrs_of(3, data_format, strides, padding, dilations))


@export("nn.conv3d_transpose")
def conv3d_transpose(
    value: TensorLike,
    filter: TensorLike | None = None,
    output_shape: ShapeLike | TensorLike = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "SAME",
    data_format: str | None = "NDHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Computes a transposed convolution of volumes.

    Args:
        value: The input.
        filter: The kernel [spatial dimensions, channels out, channels in].
        data_format: "NDHWC" or "NCDHW".
        input: Another name of `value`.
        filters: Another name of `filter`.
    """
    value = one_of("input", input, "value", value)
    filter = one_of("filters", filters, "filter", filter)
    with name_scope(name, "conv3d_transpose", [value, filter, output_shape]) as scope:
        settings = attrs_of(3, data_format, strides, padding, dilations)
        return conv3d_backprop_input_op(output_shape, filter, value, name=scope, **settings)


@export("nn.conv3d_backprop_filter", "nn.conv3d_backprop_filter_v2")
def conv3d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str | None = "NDHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Computes the gradient of conv3d with respect to its filter.

    Args:
        data_format: "NDHWC" or "NCDHW".
    """
    settings = attrs_of(3, data_format, strides, padding, dilations)
    return conv3d_backprop_filter_op(input, filter_sizes, out_backprop, name=name, **settings)


conv3d_backprop_filter_v2 = conv3d_backprop_filter


@export("nn.conv1d")
def conv1d(
    value: TensorLike | None = None,
    filters: Any = None,
    stride: Any = None,
    padding: str | Sequence[Sequence[int]] | None = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Convolves sequences with a filter of shape [width, input channels, output channels], as images of height 1.

    Args:
        value: Sequences [batch, width, channels].
        filters: The kernel [width, channels in, channels out].
        stride: Step of the window.
        data_format: "NWC" or "NCW".
        input: Another name of `value`.
    """
    value = one_of("input", input, "value", value)
    with name_scope(name, "conv1d", [value, filters]):
        axis, layout = _line(data_format)
        first = layout == "NCHW"
        images = expand_dims(value, axis)
        filters = expand_dims(filters, 0)
        strides, rates = _flat(stride, first, "stride"), _flat(dilations, first, "dilations")
        result = conv2d(images, filters, strides, padding, data_format=layout, dilations=rates)
        return squeeze(result, [axis])


def _line(data_format: str | None) -> tuple[int, str]:
    """Returns the axis that is inserted to make sequences images, and the images' data format."""
    if data_format in (None, "NHWC", "NWC"):
        return 1, "NHWC"
    if data_format in ("NCHW", "NCW"):
        return 2, "NCHW"
    raise ValueError("data_format must be 'NWC' or 'NCW'.")


def _flat(value: Any, channels_first: bool, name: str) -> list[int]:
    whole = full_sequence(value, 1, channels_first, name)
    return [whole[0], whole[1], 1, whole[2]] if channels_first else [whole[0], 1, whole[1], whole[2]]


@export("nn.conv1d_transpose", "contrib.nn.conv1d_transpose")
def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike | TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]] = "SAME",
    data_format: str | None = "NWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes a transposed convolution of sequences.

    Args:
        input: Sequences [batch, width, channels].
        filters: The kernel [width, channels out, channels in].
        data_format: "NWC" or "NCW".
    """
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]):
        axis, layout = _line(data_format)
        first = layout == "NCHW"
        output_shape = convert_to_tensor(output_shape, dtypes.int32, name="output_shape")
        whole = concat([output_shape[:axis], [1], output_shape[axis:]], 0)
        result = conv2d_backprop_input(
            whole,
            expand_dims(filters, 0),
            expand_dims(input, axis),
            _flat(strides, first, "strides"),
            padding,
            data_format=layout,
            dilations=_flat(dilations, first, "dilations"),
        )
        return squeeze(result, [axis])


@export("nn.conv_transpose")
def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike | TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]] = "SAME",
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes a transposed convolution over one, two or three dimensions, as the output shape has.

    Args:
        filters: The kernel [spatial dimensions, channels out, channels in].
        data_format: Order of the dimensions; names that start with "NC" put channels second.
    """
    transposes = {3: conv1d_transpose, 4: conv2d_transpose, 5: conv3d_transpose}
    with name_scope(name, "conv_transpose", [input, filters, output_shape]) as scope:
        shape = convert_to_tensor(output_shape, dtypes.int32).dims
        rank = None if not shape else shape[0]
        if rank not in transposes:
            raise ValueError(f"output_shape must have 3, 4 or 5 entries, got {rank}")
        layout = data_format or {3: "NWC", 4: "NHWC", 5: "NDHWC"}[rank]
        return transposes[rank](  # type: ignore[operator, no-any-return]
            input,
            filters,
            output_shape,
            strides,
            padding=padding,
            data_format=layout,
            dilations=dilations,
            name=scope,
        )


@export("nn.convolution")
def convolution(
    input: TensorLike,
    filter: TensorLike | None = None,
    padding: str | Sequence[Sequence[int]] | None = None,
    strides: int | Sequence[int] | None = None,
    dilation_rate: int | Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: TensorLike | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Convolves over one, two or three dimensions, as the filter has, with strides or with dilations.

    Args:
        filter: The kernel [spatial dimensions, channels in, channels out].
        data_format: Order of the dimensions; names that start with "NC" put channels second.
        filters: Another name of `filter`.
        dilations: Another name of `dilation_rate`.
    """
    filter = one_of("filters", filters, "filter", filter)
    rates = one_of("dilations", dilations, "dilation_rate", dilation_rate)
    with name_scope(name, "convolution", [input, filter]) as scope:
        input, filter = convert_to_tensor(input, name="input"), convert_to_tensor(filter, name="filter")
        dims = input.dims if input.dims is not None else filter.dims
        if dims is None:
            raise ValueError("rank of input or filter must be known")
        rank = len(dims) - 2
        if rank not in (1, 2, 3):
            raise ValueError(f"convolution needs one to three spatial dimensions, the input has {rank}")
        if any(s > 1 for s in _listed(strides, rank)) and any(r > 1 for r in _listed(rates, rank)):
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
        padding = padding.upper() if isinstance(padding, str) else padding
        if rank == 1:
            return conv1d(input, filter, strides, padding, data_format=data_format, dilations=rates, name=scope)
        function: OpDef = conv2d_op if rank == 2 else conv3d_op
        return function(input, filter, name=scope, **attrs_of(rank, data_format, strides, padding, rates))


def _listed(value: Any, rank: int) -> list[int]:
    """Returns one integer per spatial dimension."""
    values = [1] if value is None else list(value) if hasattr(value, "__len__") else [value]
    if len(values) not in (1, rank):
        raise ValueError(f"expected {rank} integers for the spatial dimensions, got {values}")
    if min(values) < 1:
        raise ValueError(f"a stride or dilation is less than 1: {values}")
    return values * rank if len(values) == 1 else values


@export("nn.atrous_conv2d")
def atrous_conv2d(value: TensorLike, filters: TensorLike, rate: int, padding: str, name: str | None = None) -> Tensor:
    """Convolves with a dilated filter, with rate - 1 zeros between its elements.

    Args:
        value: Images [batch, height, width, channels].
        filters: The kernel [height, width, channels in, channels out].
    """
    return convolution(value, filters, padding, dilation_rate=[rate, rate], name=name)


@export("nn.atrous_conv2d_transpose")
def atrous_conv2d_transpose(
    value: TensorLike, filters: TensorLike, output_shape: TensorLike, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """Computes the transpose of atrous_conv2d.

    Args:
        value: Images [batch, height, width, channels].
        filters: The kernel [height, width, channels out, channels in].
    """
    with name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]) as scope:
        return conv2d_backprop_input(output_shape, filters, value, 1, padding, dilations=rate, name=scope)
