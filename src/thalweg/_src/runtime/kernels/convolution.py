"""Kernels of convolutions.

An NHWC tensor viewed as NCHW by a permutation has torch's channels-last memory format, its fastest layout, and so has
the result: activations are never copied for their layout. torch pads symmetrically only: SAME padding with different
sides is an explicit pad before the convolution.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.errors import invalid
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.windows import Pads, Window, window_of
from thalweg._src.runtime.kernels.nn import activate
from thalweg._src.runtime.kernels.registry import Call, Input, kernel
from thalweg._src.runtime.kernels.types import INTEGERS, from_numpy
from thalweg._src.runtime.resources.devices import Device

Tensor = torch.Tensor
Function = Callable[..., Any]
_backward = torch.ops.aten.convolution_backward.default
_OF_INPUT, _OF_FILTER = (True, False, False), (False, True, False)
_FORMATS = {2: torch.channels_last, 3: torch.channels_last_3d}


class Layout:
    """The permutations between one of TensorFlow's layouts and torch's NC..., for values, calls and filters."""

    def __init__(self, window: Window) -> None:
        rank = window.rank
        self.first = window.channels_first
        self.to_torch = (0, rank + 1, *range(1, rank + 1))
        self.from_torch = (0, *range(2, rank + 2), 1)
        self.filter_to_torch = (rank + 1, rank, *range(rank))
        self.filter_from_torch = (*range(2, rank + 2), 1, 0)

    def enter(self, x: Tensor) -> Tensor:
        return x if self.first else x.permute(self.to_torch)

    def leave(self, x: Tensor) -> Tensor:
        return x if self.first else x.permute(self.from_torch)

    def entering(self, value: object) -> Any:
        return value if self.first else Call(torch.permute, (value, self.to_torch))

    def leaving(self, value: Call) -> Call:
        return value if self.first else Call(torch.permute, (value, self.from_torch))

    def filter(self, value: object, depthwise: bool) -> Any:
        if depthwise:
            value = Call(torch.unsqueeze, (Call(torch.flatten, (value, -2)), -2))
        return Call(torch.permute, (value, self.filter_to_torch))


def _filter(w: Tensor, layout: Layout, depthwise: bool) -> Tensor:
    """Returns a filter as [out, in, ...]; a depthwise one has one input channel and its multipliers in sequence."""
    if depthwise:
        w = w.flatten(-2).unsqueeze(-2)
    return w.permute(layout.filter_to_torch)


def _is_depthwise(node: Node) -> bool:
    return node.type.startswith("Depthwise")


def _split_padding(pads: Pads) -> tuple[list[int], list[int] | None]:
    """Returns torch's own padding if it is symmetric, else none and the explicit pad to apply before."""
    if all(before == after for before, after in pads):
        return [before for before, _ in pads], None
    return [0] * len(pads), [size for pair in reversed(pads) for size in pair]


class _RuntimeInput:
    """A runtime input in the form that shape functions expect."""

    __slots__ = ("dims", "static_value")

    def __init__(self, shape: Any, value: Any) -> None:
        self.dims, self.static_value = tuple(shape), value


def check(node: Node, *shapes: Any, values: dict[int, Any] | None = None) -> None:
    """Runs the op's shape function on the actual shapes, for conditions that torch does not reject."""
    sources = [_RuntimeInput(shape, None if values is None else values.get(i)) for i, shape in enumerate(shapes)]
    node.definition.infer(Inference(node.definition, node.attrs, sources, len(node.dtypes)))


class _StaticConvolution:
    """The static properties of a convolution at binding time."""

    def __init__(self, node: Node, image: Any, filter: Any) -> None:
        self.window = window_of(node.attrs)
        self.layout = Layout(self.window)
        self.depthwise = _is_depthwise(node)
        self.is_static = False
        if image is None or filter is None:
            return
        sizes, channels = self.window.spatial(image), self.window.channels(image)
        if None in sizes or channels is None or None in filter or 0 in (*sizes, channels, *filter):
            return
        pads = self.window.pads(sizes, filter[:-2])
        assert pads is not None
        self.is_static = True
        self.sizes = sizes
        self.kernel = filter[:-2]
        self.groups = channels if self.depthwise else channels // filter[-2]
        self.padding, self.before = _split_padding(pads)


@kernel("Conv2D", "Conv3D", "DepthwiseConv2dNative", cpu_types=INTEGERS)
def bind_convolution(node: Node, device: Device) -> Function | Call:
    conv = _StaticConvolution(node, node.input_shape(0), node.input_shape(1))
    if conv.is_static:
        call, packed = _convolution_call(conv, None), _packed(conv, node, device)
        return conv.layout.leaving(call if packed is None else _by_onednn(call, packed))
    window, layout, depthwise = conv.window, conv.layout, conv.depthwise

    def convolve(x: Tensor, w: Tensor) -> Tensor:
        check(node, x.shape, w.shape)
        return layout.leave(_convolve(layout.enter(x), _filter(w, layout, depthwise), None, window))

    return convolve


def _convolution_call(conv: _StaticConvolution, bias: object) -> Call:
    x = conv.layout.entering(Input(0))
    if conv.before is not None:
        x = Call(torch.constant_pad_nd, (x, conv.before))
    w = conv.layout.filter(Input(1), conv.depthwise)
    strides, dilations = list(conv.window.strides), list(conv.window.dilations)
    zeros = [0] * len(strides)
    return Call(torch.convolution, (x, w, bias, strides, conv.padding, dilations, False, zeros, conv.groups))


def _convolve(x: Tensor, w: Tensor, bias: Tensor | None, window: Window) -> Tensor:
    """Convolves tensors in torch's layout whose sizes were not statically known."""
    sizes, kernel = tuple(x.shape[2:]), tuple(w.shape[2:])
    if x.numel() == 0:
        return x.new_zeros((x.shape[0], w.shape[0], *window.output(sizes, kernel)))  # type: ignore[arg-type]
    pads = window.pads(sizes, kernel)
    assert pads is not None
    padding, before = _split_padding(pads)
    if before is not None:
        x = torch.constant_pad_nd(x, before)
    groups = x.shape[1] // w.shape[1]
    zeros = [0] * window.rank
    return torch.convolution(x, w, bias, window.strides, padding, window.dilations, False, zeros, groups)


@kernel("Conv2DBackpropInput", "Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput", cpu_types=INTEGERS)
def bind_backprop_input(node: Node, device: Device) -> Function | Call:
    shape, filter = node.shapes[0], node.input_shape(1)
    conv = _StaticConvolution(node, shape, filter)
    grad = node.input_shape(2)
    sure = node.inputs[0][0].type == "Shape" or (shape and grad and shape[0] is not None and shape[0] == grad[0])
    if conv.is_static and conv.before is None and grad is not None and sure and node.attrs["T"].is_floating:
        extra = _output_padding(conv)
        if extra is not None:
            return conv.layout.leaving(_transposed_call(conv, extra))
    window, layout, depthwise = conv.window, conv.layout, conv.depthwise

    def to_input(sizes: Tensor, w: Tensor, grad: Tensor) -> Tensor:
        dims = sizes.tolist()
        check(node, sizes.shape, w.shape, grad.shape, values={0: sizes.numpy()})
        whole = [dims[0], window.channels(dims), *window.spatial(dims)]
        return layout.leave(_to_input(whole, _filter(w, layout, depthwise), layout.enter(grad), window))

    return to_input


def _output_padding(conv: _StaticConvolution) -> list[int] | None:
    """Returns the output padding of a transposed convolution that reaches the requested size, if torch allows it."""
    window = conv.window
    positions = window.output(conv.sizes, conv.kernel)
    extra = [
        size - ((count - 1) * stride - 2 * pad + dilation * (extent - 1) + 1)
        for size, count, stride, pad, dilation, extent in zip(
            conv.sizes, positions, window.strides, conv.padding, window.dilations, conv.kernel
        )
    ]
    fits = all(0 <= e < max(s, d) for e, s, d in zip(extra, window.strides, window.dilations))
    return extra if fits else None


def _transposed_call(conv: _StaticConvolution, extra: list[int]) -> Call:
    """Uses the transposed convolution: as fast as torch's backward call, and it needs no input to take a shape from."""
    grad, w = conv.layout.entering(Input(2)), conv.layout.filter(Input(1), conv.depthwise)
    strides, dilations = list(conv.window.strides), list(conv.window.dilations)
    return Call(torch.convolution, (grad, w, None, strides, conv.padding, dilations, True, extra, conv.groups))


def _to_input(dims: list[int], w: Tensor, grad: Tensor, window: Window) -> Tensor:
    if grad.numel() == 0 or 0 in dims:
        return grad.new_zeros(dims)
    if not grad.is_floating_point():  # torch has no transposed convolution of integers
        return _to_input(dims, w.double(), grad.double(), window).to(grad.dtype)
    pads = window.pads(tuple(dims[2:]), tuple(w.shape[2:]))
    assert pads is not None
    padding, before = _split_padding(pads)
    padded = dims if before is None else dims[:2] + [size + sum(pad) for size, pad in zip(dims[2:], pads)]
    image = torch.empty(padded, dtype=grad.dtype, device=grad.device, memory_format=_FORMATS[window.rank])
    zeros, groups = [0] * window.rank, dims[1] // w.shape[1]
    result: Tensor = _backward(
        grad, image, w, None, window.strides, padding, window.dilations, False, zeros, groups, _OF_INPUT
    )[0]
    if before is None:
        return result
    for axis, (first, _) in enumerate(pads, 2):
        result = result.narrow(axis, first, dims[axis])
    return result.contiguous(memory_format=_FORMATS[window.rank])


@kernel("Conv2DBackpropFilter", "Conv3DBackpropFilterV2", "DepthwiseConv2dNativeBackpropFilter", cpu_types=INTEGERS)
def bind_backprop_filter(node: Node, device: Device) -> Function | Call:
    filter = node.shapes[0]
    conv = _StaticConvolution(node, node.input_shape(0), filter)
    grad = node.input_shape(2)
    sure = node.inputs[1][0].type in ("Shape", "Const")
    if conv.is_static and sure and grad is not None and None not in conv.window.spatial(grad):
        return _filter_call(conv, filter, device.type == "CPU")
    window, layout, depthwise = conv.window, conv.layout, conv.depthwise

    def to_filter(x: Tensor, sizes: Tensor, grad: Tensor) -> Tensor:
        check(node, x.shape, sizes.shape, grad.shape, values={1: sizes.numpy()})
        return _to_filter(layout.enter(x), sizes.tolist(), layout.enter(grad), window, layout, depthwise)

    return to_filter


def _filter_call(conv: _StaticConvolution, filter: Any, in_order: bool) -> Call:
    """Returns the filter gradient's call; in_order: in the memory layout of host filters, in which updates read it."""
    *kernel, num_in, num_out = filter
    inner = [num_in * num_out, 1, *kernel] if conv.depthwise else [num_out, num_in, *kernel]
    x = conv.layout.entering(Input(0))
    if conv.before is not None:
        x = Call(torch.constant_pad_nd, (x, conv.before))
    grad = conv.layout.entering(Input(2))
    like = Call(torch.Tensor.new_empty, (Input(2), inner))  # only its sizes matter
    strides, dilations = list(conv.window.strides), list(conv.window.dilations)
    zeros = [0] * len(strides)
    result = Call(
        _backward,
        (grad, x, like, None, strides, conv.padding, dilations, False, zeros, conv.groups, list(_OF_FILTER)),
    )
    ordered = Call(torch.permute, (Call(operator.getitem, (result, 1)), conv.layout.filter_from_torch))
    if in_order:
        ordered = Call(torch.Tensor.contiguous, (ordered,))
    return Call(torch.reshape, (ordered, list(filter))) if conv.depthwise else ordered


def _to_filter(x: Tensor, sizes: list[int], grad: Tensor, window: Window, layout: Layout, depthwise: bool) -> Tensor:
    if x.numel() == 0 or grad.numel() == 0:
        return x.new_zeros(sizes)
    *kernel, num_in, num_out = sizes
    pads = window.pads(tuple(x.shape[2:]), tuple(kernel))
    assert pads is not None
    padding, before = _split_padding(pads)
    if before is not None:
        x = torch.constant_pad_nd(x, before)
    like = x.new_empty([num_in * num_out, 1, *kernel] if depthwise else [num_out, num_in, *kernel])
    zeros, groups = [0] * window.rank, x.shape[1] // like.shape[1]
    result: Tensor = _backward(
        grad, x, like, None, window.strides, padding, window.dilations, False, zeros, groups, _OF_FILTER
    )[1]
    return result.permute(layout.filter_from_torch).contiguous().reshape(sizes)


_pointwise: Function | None = None
if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
    _pointwise = torch.ops.mkldnn._convolution_pointwise.default


@kernel("_FusedConv2D", dense=("args",))
def bind_fused_convolution(node: Node, device: Device) -> Function | Call:
    fused = list(node.attrs["fused_ops"])
    if not fused or fused[0] != "BiasAdd":
        raise errors.UnimplementedError(None, None, f"_FusedConv2D cannot fuse {fused}: the first op must be BiasAdd")
    if len(node.inputs) != 3 or node.input_dtype(2) is not node.attrs["T"]:
        raise invalid(f"{fused} takes one bias of the filter's type")
    conv = _StaticConvolution(node, node.input_shape(0), node.input_shape(1))
    if not conv.is_static:
        window, layout = conv.window, conv.layout
        ending = _interpreted(activate(Call(torch.positive, (Input(0),)), fused[1:], node))

        def convolve(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
            check(node, x.shape, w.shape, bias.shape)
            return layout.leave(ending(_convolve(layout.enter(x), _filter(w, layout, False), bias, window)))

        return convolve
    call = _convolution_call(conv, Input(2))
    if _has_onednn(node, device):
        call = _by_onednn(call, _packed(conv, node, device))
    return conv.layout.leaving(activate(call, fused[1:], node))


def _has_onednn(node: Node, device: Device) -> bool:
    is_known = node.attrs["T"] is dtypes.float32 and device.type == "CPU" and not device.compiling
    return is_known and _pointwise is not None


def _by_onednn(call: Call, packed: Tensor | None) -> Call:
    """Returns a convolution as a call of oneDNN, whose relu is not used: it maps NaN to 0, which would hide it."""
    x, w, bias, strides, padding, dilations, _, _, groups = call.args
    assert _pointwise is not None
    return Call(
        _pointwise, (x, w if packed is None else packed, bias, padding, strides, dilations, groups, "none", [], "")
    )


def _packed(conv: _StaticConvolution, node: Node, device: Device) -> Tensor | None:
    """Returns a constant filter in oneDNN's own memory format, into which it would be copied in every step."""
    value = node.constant(1)
    if value is None or conv.window.rank != 2 or not _has_onednn(node, device):
        return None
    w = _filter(from_numpy(value, dtypes.float32), conv.layout, conv.depthwise)
    window = list(conv.window.strides), list(conv.window.dilations)
    packed: Tensor = torch.ops.mkldnn._reorder_convolution_weight.default(w, conv.padding, *window, conv.groups, None)
    return packed


def _interpreted(call: Call) -> Function:
    """Returns a function of one tensor for a chain of calls on Input(0)."""
    chain: list[Call] = []
    inner: Any = call
    while isinstance(inner, Call):
        chain.append(inner)
        inner = inner.args[0]
    steps = [(step.function, step.args[1:]) for step in reversed(chain)]

    def run(x: Tensor) -> Tensor:
        for function, rest in steps:
            x = function(x, *rest)
        return x

    return run
