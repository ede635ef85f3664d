"""Pooling: the maximum or the mean of each window."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import require_text
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, merge, show
from thalweg._src.base.signatures import variant
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.reduction import one_of
from thalweg._src.graph.ops.reshape import expand_dims, squeeze
from thalweg._src.graph.ops.shape_functions import require, require_sizes, with_rank
from thalweg._src.graph.ops.space_to_depth import batch_to_space_nd, space_to_batch_nd
from thalweg._src.graph.ops.windows import full_sequence, has_channels_first, kernel_of, padding_attrs, window_of
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_FLOATS = frozenset((dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64))
_REAL = dtypes.REAL - dtypes.QUANTIZED


def _pooled(c: Inference, shape: Shape) -> Shape:
    window = window_of(c.attrs)
    dims = (None,) * (window.rank + 2) if shape is None else shape
    return window.shape(dims[0], window.output(window.spatial(dims), kernel_of(c.attrs)), window.channels(dims))


def _rank(c: Inference) -> int:
    return len(c.attrs.get("data_format", "NHWC"))


def depth_window(attrs: Mapping[str, Any]) -> int:
    """Returns the depth of a window, 1 unless it spans depth only."""
    ksize, strides = attrs["ksize"], attrs["strides"]
    if len(ksize) != 4 or ksize[3] <= 1 or attrs.get("data_format") != "NHWC":
        return 1
    plain = tuple(ksize[:3]) == (1, 1, 1) and tuple(strides[:3]) == (1, 1, 1)
    require(plain, f"ksize is {list(ksize)}", expected="a window over depth only, or one of depth 1")
    require(strides[3] == ksize[3], f"the stride in depth is {strides[3]}", expected=f"the window's depth {ksize[3]}")
    return int(ksize[3])


def _max_pool(c: Inference) -> Sequence[Shape]:
    window = depth_window(c.attrs)
    if window == 1:
        return _pool(c)
    shape = with_rank(c, 0, 4)
    assert shape is not None
    depth = shape[3]
    require(depth is None or depth % window == 0, f"a depth of {depth} is not a multiple of the window's {window}")
    return [(*shape[:3], None if depth is None else depth // window)]


def _pool(c: Inference) -> Sequence[Shape]:
    return [_pooled(c, with_rank(c, 0, _rank(c)))] * c.num_outputs


def _fits(c: Inference, grad: int, shape: Shape) -> None:
    """Requires that an input has the shape of the pooled images."""
    expected = _pooled(c, shape)
    name = c.definition.inputs[grad].name
    try:
        merge(expected, with_rank(c, grad, _rank(c)))
    except ValueError:
        require(False, f"{name} is {show(c.shapes[grad])}", expected=f"{name} of {show(expected)}")


def _max_pool_grad(c: Inference) -> Sequence[Shape]:
    shape = with_rank(c, 0, _rank(c))
    _fits(c, 1, shape)
    _fits(c, 2, shape)
    return [shape]


def _max_pool_grad_grad(c: Inference) -> Sequence[Shape]:
    shape = merge(with_rank(c, 0, _rank(c)), c.shapes[2])
    _fits(c, 1, shape)
    return [_pooled(c, shape)]


def _sizes(c: Inference, index: int) -> Shape:
    require_sizes(c, index)
    sizes = c.shape_value(index)
    require(sizes is None or len(sizes) == _rank(c), f"the shape of the input is {show(sizes)}", f"{_rank(c)} sizes")
    return sizes if sizes is not None else (None,) * _rank(c)


def _avg_pool_grad(c: Inference) -> Sequence[Shape]:
    shape = _sizes(c, 0)
    _fits(c, 1, shape)
    return [shape]


def _argmax_grad(c: Inference) -> Sequence[Shape]:
    shape = with_rank(c, 0, 4)
    _fits(c, 1, shape)
    _fits(c, 2, shape)
    return [shape]


def _argmax_grad_grad(c: Inference) -> Sequence[Shape]:
    shape = merge(with_rank(c, 0, 4), c.shapes[1])
    _fits(c, 2, shape)
    return [_pooled(c, shape)]


_PADDING = attr.string("SAME", "VALID")
_PLAIN: dict[str, Any] = {"ksize": attr.integers(4), "strides": attr.integers(4), "padding": _PADDING}
_AVERAGE = {**_PLAIN, "data_format": attr.string("NHWC", "NCHW", default="NHWC"), "T": _FLOATS}
_MAX: dict[str, Any] = {
    "ksize": attr.integers(4),
    "strides": attr.integers(4),
    "padding": attr.string("SAME", "VALID", "EXPLICIT"),
    "explicit_paddings": (),
    "data_format": attr.string("NHWC", "NCHW", default="NHWC"),
    "T": attr.types(_REAL, dtypes.float32),
}
_SPACE: dict[str, Any] = {
    "ksize": attr.integers(5),
    "strides": attr.integers(5),
    "padding": _PADDING,
    "data_format": attr.string("NDHWC", "NCDHW", default="NDHWC"),
    "T": _FLOATS,
}
_ARGMAX = attr.types(dtypes.INDEX, dtypes.int64)
_GRAD = "orig_input: T, orig_output: T, grad: T -> output: T"

max_pool_op = op(
    "MaxPool",
    "input: T -> output: T",
    infer=_max_pool,
    doc="Computes the maximum of each window, which may span depth instead of space.",
    **{**_MAX, "T": attr.types((_REAL - {dtypes.uint32, dtypes.uint64}) | {dtypes.qint8}, dtypes.float32)},
    traceable=True,
)
max_pool_grad = op(
    "MaxPoolGrad",
    _GRAD,
    infer=_max_pool_grad,
    **_MAX,
    traceable=True,
    doc="Computes the gradient of max pooling with respect to its input.",
)
max_pool_grad_grad = op(
    "MaxPoolGradGrad",
    _GRAD,
    infer=_max_pool_grad_grad,
    **{**_AVERAGE, "T": _REAL},
    doc="Computes the second-order gradient of max pooling.",
)
max_pool_indexed = nondifferentiable_op(
    "_MaxPoolIndexed",
    "input: T -> output: T, indices: int64",
    "Computes MaxPool and the indices of the maxima; created by the optimizer, as is its gradient.",
    infer=_pool,
    **_MAX,
    traceable=True,
    compiler=True,
)
max_pool_indexed_grad = nondifferentiable_op(
    "_MaxPoolIndexedGrad",
    "orig_input: T, indices: int64, grad: T -> output: T",
    "Computes MaxPoolGrad from the indices of _MaxPoolIndexed; only dynamic sizes of its input are used.",
    infer=_max_pool_grad,
    **_MAX,
    traceable=True,
    compiler=True,
)
max_pool_with_argmax_op = op(
    "MaxPoolWithArgmax",
    "input: T -> output: T, argmax: Targmax",
    infer=_pool,
    Targmax=_ARGMAX,
    include_batch_in_index=False,
    T=_REAL,
    doc="Computes MaxPool and the flat index of each maximum.",
    **_PLAIN,
)
max_pool_grad_with_argmax = op(
    "MaxPoolGradWithArgmax",
    "input: T, grad: T, argmax: Targmax -> output: T",
    infer=_argmax_grad,
    include_batch_in_index=False,
    Targmax=attr.types(dtypes.INDEX),
    T=_REAL,
    **_PLAIN,
    doc="Computes the gradient of max pooling from the indices of the maxima.",
)
max_pool_grad_grad_with_argmax = op(
    "MaxPoolGradGradWithArgmax",
    "input: T, grad: T, argmax: Targmax -> output: T",
    infer=_argmax_grad_grad,
    include_batch_in_index=False,
    Targmax=attr.types(dtypes.INDEX),
    T=_REAL,
    **_PLAIN,
    doc="Computes the second-order gradient of max pooling from the indices of the maxima.",
)
avg_pool_op = op(
    "AvgPool", "value: T -> output: T", infer=_pool, doc="Computes the mean of each window.", **_AVERAGE, traceable=True
)
avg_pool_grad = op(
    "AvgPoolGrad",
    "orig_input_shape: int32, grad: T -> output: T",
    infer=_avg_pool_grad,
    host="orig_input_shape",
    **_AVERAGE,
    traceable=True,
    doc="Computes the gradient of average pooling with respect to its input.",
)
_SMALL = _FLOATS - {dtypes.float64}
max_pool3d_op = op(
    "MaxPool3D",
    "input: T -> output: T",
    infer=_pool,
    **{**_SPACE, "T": _SMALL},
    doc="Computes the maximum of each 3-D window of a volume.",
)
max_pool3d_grad = op(
    "MaxPool3DGrad",
    "orig_input: TInput, orig_output: TInput, grad: T -> output: T",
    infer=_max_pool_grad,
    **{**_SPACE, "T": attr.types(_SMALL, dtypes.float32), "TInput": attr.types(_SMALL, dtypes.float32)},
    doc="Computes the gradient of 3-D max pooling with respect to its input.",
)
max_pool3d_grad_grad = op(
    "MaxPool3DGradGrad",
    _GRAD,
    infer=_max_pool_grad_grad,
    **{**_SPACE, "T": _REAL},
    doc="Computes the second-order gradient of 3-D max pooling.",
)
avg_pool3d_op = op(
    "AvgPool3D",
    "input: T -> output: T",
    infer=_pool,
    **_SPACE,
    doc="Computes the mean of each 3-D window of a volume.",
)
avg_pool3d_grad = op(
    "AvgPool3DGrad",
    "orig_input_shape: int32, grad: T -> output: T",
    infer=_avg_pool_grad,
    host="orig_input_shape",
    **_SPACE,
    doc="Computes the gradient of 3-D average pooling with respect to its input.",
)


def _settings(rank: int, data_format: str | None, ksize: Any, strides: Any, padding: Any) -> dict[str, Any]:
    first = has_channels_first(data_format)
    return {
        "ksize": full_sequence(ksize, rank, first, "ksize"),
        "strides": full_sequence(strides, rank, first, "strides"),
        "data_format": ("NHWC", "NDHWC")[rank - 2] if data_format is None else data_format,
        **padding_attrs(padding, rank),
    }


@export("nn.max_pool")
def max_pool(
    value: TensorLike | None = None,
    ksize: int | Sequence[int] | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] | None = None,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Computes the maximum of each window of each image.

    Args:
        value: The input [batch, spatial dimensions, channels].
        input: Another name of `value`.
    """
    value = one_of("input", input, "value", value)
    return max_pool_op(value, name=name, **_settings(2, data_format, ksize, strides, padding))


@export("nn.max_pool2d")
def max_pool2d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Computes the maximum of each window of each image.

    Args:
        input: Images [batch, height, width, channels].
    """
    return max_pool_op(input, name=name, **_settings(2, data_format, ksize, strides, padding))


@export("nn.avg_pool", "nn.avg_pool2d")
def avg_pool(
    value: TensorLike | None = None,
    ksize: int | Sequence[int] | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] | None = None,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Computes the mean of each window of each image; padding is not counted.

    Args:
        value: The input [batch, spatial dimensions, channels].
        input: Another name of `value`.
    """
    value = one_of("input", input, "value", value)
    return avg_pool_op(value, name=name or "AvgPool", **_settings(2, data_format, ksize, strides, padding))


avg_pool2d = avg_pool


def _pool3d(
    definition: OpDef,
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Pools volumes by an op.

    Args:
        input: Volumes [batch, depth, height, width, channels].
        data_format: "NDHWC" or "NCDHW".
    """
    return definition(input, name=name, **_settings(3, data_format, ksize, strides, padding))


@export("nn.max_pool3d")
@variant(_pool3d, max_pool3d_op)
def max_pool3d() -> None:
    """Computes the maximum of each window of each volume."""


@export("nn.avg_pool3d")
@variant(_pool3d, avg_pool3d_op)
def avg_pool3d() -> None:
    """Computes the mean of each window of each volume."""


def _pool1d(
    pooling: tuple[Callable[..., Tensor], str],
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Tensor:
    """Pools sequences by a function for images of height 1.

    Args:
        input: Sequences [batch, width, channels].
        data_format: "NWC" or "NCW".
    """
    function, title = pooling
    first = has_channels_first(data_format)
    with name_scope(name, title, [input]) as scope:
        axis = 2 if first else 1
        widths, steps = (full_sequence(v, 1, first, n) for v, n in ((ksize, "ksize"), (strides, "strides")))
        for values in (widths, steps):
            values.insert(axis, 1)
        images = expand_dims(input, axis)
        pooled = function(images, widths, steps, padding, data_format="NCHW" if first else "NHWC")
        return squeeze(pooled, [axis], name=scope)


@export("nn.max_pool1d")
@variant(_pool1d, (max_pool, "MaxPool1d"))
def max_pool1d() -> None:
    """Computes the maximum of each window of each sequence."""


@export("nn.avg_pool1d")
@variant(_pool1d, (avg_pool, "AvgPool1D"))
def avg_pool1d() -> None:
    """Computes the mean of each window of each sequence."""


def _pool_of_any_rank(
    functions: tuple[Callable[..., Tensor], ...],
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Pools by the function for the rank of the input.

    Args:
        input: The input [batch, spatial dimensions, channels].
        data_format: Order of the dimensions; names that start with "NC" put channels second.
    """
    x = convert_to_tensor(input, name="input")
    if x.dims is None or not 3 <= len(x.dims) <= 5:
        raise ValueError(f"input must have a known rank of 3, 4 or 5, got {show(x.dims)}")
    rank = len(x.dims) - 2
    layout = ("NWC", "NHWC", "NDHWC")[rank - 1] if data_format is None else data_format
    return functions[rank - 1](x, ksize, strides, padding, data_format=layout, name=name)


@export("nn.max_pool_v2")
@variant(_pool_of_any_rank, (max_pool1d, max_pool2d, max_pool3d))
def max_pool_v2() -> None:
    """Computes the maximum of each window over one, two or three dimensions."""


@export("nn.avg_pool_v2")
@variant(_pool_of_any_rank, (avg_pool1d, avg_pool2d, avg_pool3d))
def avg_pool_v2() -> None:
    """Computes the mean of each window over one, two or three dimensions."""


@export("nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    Targmax: DTypeLike | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
    include_batch_in_index: bool = False,
) -> Any:
    """Computes the maximum of each window and its flat index, `(y * width + x) * channels + channel`.

    Args:
        input: Images [batch, height, width, channels].
        Targmax: Integer type of the indices.
        output_dtype: Another name of `Targmax`.
        include_batch_in_index: Whether indices count over the whole batch, not over one image.
    """
    if data_format != "NHWC":
        raise ValueError(f"data_format is {data_format!r}, expected 'NHWC'")
    kind = one_of("output_dtype", output_dtype, "Targmax", Targmax)
    return max_pool_with_argmax_op.many(
        input,
        ksize=full_sequence(ksize, 2, False, "ksize"),
        strides=full_sequence(strides, 2, False, "strides"),
        padding=padding,
        Targmax=dtypes.int64 if kind is None else kind,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


@export("nn.pool")
def pool(
    input: TensorLike,
    window_shape: Sequence[int],
    pooling_type: str,
    padding: str,
    dilation_rate: int | Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Pools over one, two or three dimensions by "MAX" or "AVG".

    Args:
        window_shape: Size of the window along each spatial dimension.
        data_format: Order of the dimensions; names that start with "NC" put channels second.
        dilations: Another name of `dilation_rate`.
    """
    rates = one_of("dilations", dilations, "dilation_rate", dilation_rate)
    functions: dict[str, Any] = {
        "MAX": (max_pool1d, max_pool2d, max_pool3d),
        "AVG": (avg_pool1d, avg_pool2d, avg_pool3d),
    }
    require_text("pooling_type", pooling_type)
    require_text("padding", padding)
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        rank = len(window_shape)
        if pooling_type not in functions or not 1 <= rank <= 3:
            raise ValueError(f"no pool of type {pooling_type!r} over {rank} dimensions; MAX and AVG pool over 1 to 3")
        layout = ("NWC", "NHWC", "NDHWC")[rank - 1] if data_format is None else data_format
        steps = [1] * rank if strides is None else list(strides)
        function, padding = functions[pooling_type][rank - 1], padding.upper()
        if rates is None or all(rate == 1 for rate in rates):
            return function(input, list(window_shape), steps, padding, data_format=layout, name=scope)  # type: ignore[no-any-return]
        if any(step > 1 for step in steps):
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
        input = convert_to_tensor(input, name="input")
        block, pads, crops = _dilated(input, list(window_shape), list(rates), padding, layout.startswith("NC"))
        pooled = function(space_to_batch_nd(input, block, pads), list(window_shape), steps, "VALID", data_format=layout)
        return batch_to_space_nd(pooled, block, crops, name=scope)


def _dilated(
    x: Tensor, window: list[int], rates: list[int], padding: str, channels_first: bool
) -> tuple[list[int], list[list[int]], list[list[int]]]:
    """Returns the block shape that reduces dilated pooling to plain pooling, with its paddings and crops."""
    start = 2 if channels_first else 1
    sizes = None if x.dims is None else x.dims[start : start + len(window)]
    if sizes is None or None in sizes:
        raise ValueError(f"pooling with dilation_rate {rates} needs known spatial sizes, got {show(x.dims)}")
    pads, crops = [], []
    for size, extent, rate in zip(sizes, window, rates):
        assert size is not None
        total = (extent - 1) * rate if padding == "SAME" else 0
        extra = -(size + total) % rate
        pads.append([total // 2, total - total // 2 + extra])
        crops.append([0, extra])
    leading = [[0, 0]] * (start - 1)
    return [1] * (start - 1) + rates, leading + pads, leading + crops
