"""Kernels of recurrent networks in one operation, on torch's RNN functions, which use cuDNN or oneDNN where they fit.

torch's autograd computes the gradients from a second forward pass, so that nothing but the dropout masks needs to be
kept between the two operations: the reserve space holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.cudnn_rnn import Model, directions_of
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.random import drawing, generator_of
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device

_RNN: dict[str, Callable[..., Any]] = {
    "lstm": torch.lstm,
    "gru": torch.gru,
    "rnn_tanh": torch.rnn_tanh,
    "rnn_relu": torch.rnn_relu,
}
_INPUTS = 4  # input, input_h, input_c, params


@dataclass(frozen=True, slots=True)
class _Sequences:
    """Time-major inputs and initial states; `lengths` is None where all sequences have the length of the input."""

    x: torch.Tensor
    h: torch.Tensor
    c: torch.Tensor
    lengths: torch.Tensor | None


def _model(node: Node, x: torch.Tensor, h: torch.Tensor) -> Model:
    return Model.of(node.attrs, h.shape[0] // directions_of(node.attrs), h.shape[2], x.shape[2])


def _flat_weights(model: Model, params: torch.Tensor) -> list[torch.Tensor]:
    """Returns the parameters of each layer and direction as views: both weights, then both biases."""
    require(params.numel() == model.size, f"params has {params.numel()} elements", expected=f"{model.size}")
    shapes = model.weight_shapes()
    rows = model.gates * model.units
    pieces = torch.split_with_sizes(params, [*map(prod, shapes), *[rows] * model.biases])
    weights = [piece.view(shape) if prod(shape) else _identity(model, params) for piece, shape in zip(pieces, shapes)]
    biases = pieces[len(shapes) :]
    return [p for i in range(0, len(shapes), 2) for p in (*weights[i : i + 2], *biases[i : i + 2])]


def _identity(model: Model, like: torch.Tensor) -> torch.Tensor:
    """Returns the weights that add an input to all gates as it is."""
    return torch.eye(model.units, dtype=like.dtype, device=like.device).repeat(model.gates, 1)


def _run(
    model: Model, sequences: _Sequences, params: torch.Tensor, masks: torch.Tensor | None, train: bool
) -> list[torch.Tensor]:
    """Returns outputs and final states: all layers in one call, or one by one with dropout between them."""
    weights, lstm = _flat_weights(model, params), model.mode == "lstm"
    together = model.layers if masks is None else 1
    x, finals = sequences.x, []
    for first in range(0, model.layers, together):
        if first and masks is not None:
            x = x * masks[first - 1]
        states = slice(first * model.directions, (first + together) * model.directions)
        start = (sequences.h[states], sequences.c[states]) if lstm else sequences.h[states]
        mine = weights[states.start * 4 : states.stop * 4]
        options = (True, together, 0.0, train, model.directions == 2)
        x, *final = _steps(_RNN[model.mode], x, start, mine, options, sequences.lengths)
        finals.append(final)
    return [x, *(torch.cat(tensors) if len(tensors) > 1 else tensors[0] for tensors in zip(*finals))]


def _steps(
    rnn: Callable[..., Any],
    x: torch.Tensor,
    start: Any,
    weights: Sequence[torch.Tensor],
    options: tuple[Any, ...],
    lengths: torch.Tensor | None,
) -> Any:
    if lengths is None:
        return rnn(x, start, weights, *options, False)
    longest_first, places = lengths.sort(descending=True)
    order = places.to(x.device)
    inverse = order.argsort()
    packed = pack_padded_sequence(x.index_select(1, order), longest_first)
    ordered = _map(start, lambda state: state.index_select(1, order))
    data, *final = rnn(packed.data, packed.batch_sizes, ordered, weights, *options)
    padded, _ = pad_packed_sequence(PackedSequence(data, packed.batch_sizes), total_length=x.shape[0])
    return [result.index_select(1, inverse) for result in (padded, *final)]


def _map(state: Any, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    return tuple(map(function, state)) if isinstance(state, tuple) else function(state)


def _sequences(node: Node, values: Sequence[torch.Tensor]) -> _Sequences:
    """Returns the inputs of a forward operation, time-major, after checking the lengths."""
    x, h, c = values[:3]
    require(x.ndim == 3 and h.ndim == 3, "input or input_h has another rank", expected="rank 3")
    lengths = None
    if node.type.endswith("V3"):
        if node.attrs["num_proj"]:
            raise invalid(f"num_proj is {node.attrs['num_proj']}, but only networks without projection can be run")
        if not node.attrs["time_major"]:
            x, h = x.transpose(0, 1), h.transpose(0, 1).contiguous()
            c = c.transpose(0, 1).contiguous() if c.ndim == 3 else c
        lengths = values[_INPUTS]
        require(lengths.shape == (x.shape[1],), f"sequence_lengths has shape {list(lengths.shape)}", "one per sequence")
        if lengths.numel() and (int(lengths.min()) < 1 or int(lengths.max()) > x.shape[0]):
            raise invalid(f"sequence_lengths is {lengths.tolist()}, expected lengths from 1 to {x.shape[0]}")
    require(x.shape[1] == h.shape[1], "batch sizes of input and input_h differ", expected="equal sizes")
    require(node.attrs["rnn_mode"] != "lstm" or c.shape == h.shape, "input_c has another shape than input_h")
    return _Sequences(x, h, c, lengths)


@kernel("CudnnRNN", "CudnnRNNV3")
@drawing
def bind_forward(node: Node, device: Device) -> Callable[..., Any]:
    rate, train = node.attrs["dropout"], node.attrs["is_training"]
    generator, dtype = generator_of(node, device), TORCH[node.dtypes[0]]
    lstm, host_reserved = node.attrs["rnn_mode"] == "lstm", node.type.endswith("V3")
    swap = not node.attrs.get("time_major", True)

    def run(*values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        sequences = _sequences(node, values)
        model = _model(node, sequences.x, sequences.h)
        masks = None
        if train and rate and model.layers > 1:
            shape = (model.layers - 1, *sequences.x.shape[:2], model.units * model.directions)
            survives = torch.rand(shape, generator=generator, dtype=torch.float32, device=device.torch) >= rate
            masks = survives.to(dtype) / (1 - rate) if rate < 1 else survives.to(dtype)
        results = _run(model, sequences, values[3], masks, False)
        if swap:
            results = [result.transpose(0, 1).contiguous() for result in results]
        if not lstm:
            results.append(torch.zeros((), dtype=dtype, device=device.torch))
        reserve = torch.empty(0, dtype=dtype, device=device.torch) if masks is None else masks.flatten()
        extra = [torch.empty(0, dtype=torch.int8)] if host_reserved else []
        return (*results, reserve, *extra)

    return run


@kernel("CudnnRNNBackprop", "CudnnRNNBackpropV3")
def bind_backward(node: Node, device: Device) -> Callable[..., Any]:
    version_3 = node.type.endswith("V3")
    first_grad = _INPUTS + version_3 + 3
    count = 3 if node.attrs["rnn_mode"] == "lstm" else 2
    swap = not node.attrs.get("time_major", True)

    def run(*values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        # Autograd keeps no tensors of the inference mode that steps run in, but copies made outside of it.
        with torch.inference_mode(False), torch.enable_grad():
            sources = [value.clone().requires_grad_() for value in values[:_INPUTS]]
            sequences = _sequences(node, [*sources, *values[_INPUTS:]])
            model = _model(node, sequences.x, sequences.h)
            reserve = values[first_grad + 3]
            masks = reserve.clone().view(model.layers - 1, *sequences.x.shape[:2], -1) if reserve.numel() else None
            results = _run(model, sequences, sources[3], masks, True)
            if swap:
                results = [result.transpose(0, 1) for result in results]
            grads = values[first_grad : first_grad + count]
            source_grads = torch.autograd.grad(results, sources, grads, allow_unused=True)
        return tuple(torch.zeros_like(s) if g is None else g for s, g in zip(values, source_grads))

    return run


# -- parameters -------------------------------------------------------------------------------------------------------


def _sizes(node: Node, values: Sequence[torch.Tensor]) -> Model:
    sizes = [int(value) for value in values[:3]]
    require(min(sizes) > 0, f"num_layers, num_units and input_size are {sizes}", expected="positive numbers")
    return Model.of(node.attrs, *sizes)


@kernel("CudnnRNNParamsSize")
def bind_size(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    dtype = TORCH[node.attrs["S"]]
    return lambda *sizes: torch.tensor([_sizes(node, sizes).size], dtype=dtype, device=device.torch)


@kernel("CudnnRNNParamsToCanonical")
def bind_to_canonical(node: Node, device: Device) -> Callable[..., Any]:
    def split(*values: torch.Tensor) -> list[torch.Tensor]:
        model = _sizes(node, values)
        require(node.attrs["num_params"] == model.biases * model.gates, "num_params does not fit the sizes")
        flat = _flat_weights(model, values[3])
        weights, biases = zip(*_by_kind(flat))
        return [gate.clone() for tensor in (*weights, *biases) for gate in tensor.chunk(model.gates)]

    return split


@kernel("CudnnRNNCanonicalToParams")
def bind_from_canonical(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    count = node.attrs["num_params"]

    def join(*values: torch.Tensor) -> torch.Tensor:
        model, gates = _sizes(node, values), values[3:]
        require(count == model.biases * model.gates, "num_params does not fit the sizes")
        skipped = 2 * model.gates if model.skip_input else 0
        chosen = [
            value.flatten()
            for i, value in enumerate(gates)
            if not (skipped and i < model.directions * skipped and i % skipped < model.gates)
        ]
        result = torch.cat(chosen)
        require(result.numel() == model.size, f"weights and biases have {result.numel()} elements", f"{model.size}")
        return result

    return join


def _by_kind(flat: Sequence[torch.Tensor]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yields each weight with its bias."""
    for i in range(0, len(flat), 4):
        yield flat[i], flat[i + 2]
        yield flat[i + 1], flat[i + 3]
