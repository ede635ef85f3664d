"""Gradients of recurrent networks in one operation."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import cudnn_rnn
from thalweg._src.graph.tensor import Tensor

_MODEL = ("rnn_mode", "input_mode", "direction", "dropout", "seed", "seed2")


def _require_training(op: Operation) -> None:
    if not op.attrs["is_training"]:
        raise ValueError(f"{op.type} {op.name!r} was made with is_training=False: only training has gradients")


@gradient("CudnnRNN")
def cudnn_rnn_grad(op: Operation, *grads: Tensor) -> list[Any]:
    _require_training(op)
    options = {name: op.attrs[name] for name in _MODEL}
    reserve = op.outputs[3]
    return [*cudnn_rnn.cudnn_rnn_backprop_op.many(*op.inputs, *op.outputs[:3], *grads[:3], reserve, **options)]


@gradient("CudnnRNNV3")
def cudnn_rnn_v3_grad(op: Operation, *grads: Tensor) -> list[Any]:
    _require_training(op)
    options = {name: op.attrs[name] for name in (*_MODEL, "num_proj", "time_major")}
    reserved = op.outputs[3:]
    backprop = cudnn_rnn.cudnn_rnn_backprop_v3_op
    return [*backprop.many(*op.inputs, *op.outputs[:3], *grads[:3], *reserved, **options), None]
