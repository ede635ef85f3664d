"""Recurrent networks of several layers in one operation, with all parameters in one vector, as cuDNN keeps them.

The vector holds the weights of all layers, then all biases; within a layer the forward direction comes first, and the
parameters that are applied to the input come before those of the recurrent state. Gates are ordered as cuDNN orders
them, which is also torch's order: input, forget, candidate, output for an LSTM; reset, update, candidate for a GRU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.declarations import nondifferentiable_op, stateful_op
from thalweg._src.graph.ops.shape_functions import require, same_dimension, scalar_value, vector_size, with_rank

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
_FLOATS = frozenset((dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64))
_MODEL: dict[str, Any] = {
    "rnn_mode": attr.string("rnn_relu", "rnn_tanh", "lstm", "gru", default="lstm"),
    "input_mode": attr.string("linear_input", "skip_input", "auto_select", default="linear_input"),
    "direction": attr.string("unidirectional", "bidirectional", default="unidirectional"),
    "dropout": 0.0,
    "seed": 0,
    "seed2": 0,
}
_STATE = "input: T, input_h: T, input_c: T, params: T"
_RESULT = "output: T, output_h: T, output_c: T"
_GRADIENTS = "output_backprop: T, output_h_backprop: T, output_c_backprop: T"
_BACKPROP = "input_backprop: T, input_h_backprop: T, input_c_backprop: T, params_backprop: T"
_SIZES = "num_layers: int32, num_units: int32, input_size: int32"


@dataclass(frozen=True, slots=True)
class Model:
    """The sizes of a recurrent network, which determine the layout of its parameters."""

    mode: str
    layers: int
    units: int
    input_size: int
    directions: int
    skip_input: bool = False

    @classmethod
    def of(cls, attrs: Any, layers: int, units: int, input_size: int) -> Model:
        """Returns the model with an operation's attributes."""
        mode = attrs["input_mode"]
        skip = mode == "skip_input" or (mode == "auto_select" and input_size == units)
        require(
            not skip or input_size == units,
            f"input_mode is skip_input, input_size is {input_size} and num_units is {units}",
            expected="input_size equal to num_units",
        )
        return cls(attrs["rnn_mode"], layers, units, input_size, directions_of(attrs), skip)

    @property
    def gates(self) -> int:
        return GATES[self.mode]

    def width(self, layer: int) -> int:
        """Returns the size of a layer's input."""
        return self.units * self.directions if layer else self.input_size

    def weight_shapes(self) -> list[tuple[int, int]]:
        """Returns the shapes of the weights of each layer and direction: of the input, of the recurrent state.

        The weights of an input that is not projected have no rows.
        """
        rows = self.gates * self.units
        shapes = []
        for layer in range(self.layers):
            projected = 0 if self.skip_input and not layer else rows
            shapes += [(projected, self.width(layer)), (rows, self.units)] * self.directions
        return shapes

    @property
    def biases(self) -> int:
        """The number of bias vectors, each for all gates."""
        return 2 * self.layers * self.directions

    @property
    def size(self) -> int:
        """The number of parameters, found without a list of all layers, of which there may be too many."""
        rows = self.gates * self.units
        first = (0 if self.skip_input else self.input_size) + self.units
        later = (self.directions + 1) * self.units
        return rows * (self.directions * (first + (self.layers - 1) * later) + self.biases)


def directions_of(attrs: Any) -> int:
    """Returns the number of directions that an operation runs in."""
    return 2 if attrs["direction"] == "bidirectional" else 1


def _run_shapes(c: Inference) -> tuple[Shape, Shape, Shape]:
    """Returns the shapes of output, output_h and output_c, and checks those of the inputs."""
    x, h = with_rank(c, 0, 3), with_rank(c, 1, 3)
    assert x is not None and h is not None
    time_major, directions = c.attrs.get("time_major", True), directions_of(c.attrs)
    batch = same_dimension(x[time_major], h[1 if time_major else 0], "batch sizes of input and input_h", "equal sizes")
    stacked, units = h[0 if time_major else 1], h[2]
    require(
        stacked is None or stacked % directions == 0,
        f"input_h has {stacked} states",
        expected=f"a multiple of {directions}, the number of directions",
    )
    count = vector_size(c, 3)
    if None not in (stacked, units, x[2], count):
        model = Model.of(c.attrs, stacked // directions, units, x[2])  # type: ignore[operator, arg-type]
        require(count == model.size, f"params has {count} elements", expected=f"{model.size}, for these sizes")
    if c.attrs["rnn_mode"] == "lstm" and c.shapes[2] is not None:
        pairs = [(a, b) for a, b in zip(c.shapes[2], h) if a is not None and b is not None]
        agree = len(c.shapes[2]) == 3 and all(a == b for a, b in pairs)
        require(agree, "the shapes of input_h and input_c differ", expected="equal shapes")
    steps = x[0 if time_major else 1]
    width = None if units is None else units * directions
    state: Shape = (stacked, batch, units) if time_major else (batch, stacked, units)
    output: Shape = (steps, batch, width) if time_major else (batch, steps, width)
    return output, state, state if c.attrs["rnn_mode"] == "lstm" else ()


def _forward_shapes(c: Inference) -> Sequence[Shape]:
    return [*_run_shapes(c), *[(None,)] * (c.num_outputs - 3)]


def _backward_shapes(c: Inference) -> Sequence[Shape]:
    return c.shapes[:4]


def _sizes(c: Inference) -> Model | None:
    layers, units, input_size = (scalar_value(c, i) for i in range(3))
    for name, value in (("num_layers", layers), ("num_units", units), ("input_size", input_size)):
        require(value is None or value > 0, f"{name} is {value}", expected="a positive number")
    return None if None in (layers, units, input_size) else Model.of(c.attrs, layers, units, input_size)


def _canonical_shapes(c: Inference) -> Sequence[Shape]:
    model, count = _sizes(c), c.attrs["num_params"]
    vector_size(c, 3)
    if model is None:
        return [(None, None)] * count + [(None,)] * count
    expected = model.biases * model.gates
    require(count == expected, f"num_params is {count}", expected=f"{expected}, for these sizes")
    shapes: list[Shape] = []
    for layer in range(model.layers):
        one = [(model.units, model.width(layer))] * model.gates + [(model.units, model.units)] * model.gates
        shapes += one * model.directions
    return shapes + [(model.units,)] * count


def _opaque_shape(c: Inference) -> Sequence[Shape]:
    model = _sizes(c)
    return [(None if model is None else model.size,)]


def _size_shape(c: Inference) -> Sequence[Shape]:
    _sizes(c)
    return [(1,)]


cudnn_rnn_op = op(
    "CudnnRNN",
    f"{_STATE} -> {_RESULT}, reserve_space: T",
    T=_FLOATS,
    **_MODEL,
    is_training=True,
    stateful=True,
    random=True,
    infer=_forward_shapes,
    doc="Runs a recurrent network of one or more layers over sequences [time, batch, size].",
)
cudnn_rnn_backprop_op = stateful_op(
    "CudnnRNNBackprop",
    f"{_STATE}, {_RESULT}, {_GRADIENTS}, reserve_space: T -> {_BACKPROP}",
    "Computes the gradients of CudnnRNN.",
    T=_FLOATS,
    **_MODEL,
    infer=_backward_shapes,
)
cudnn_rnn_v3_op = op(
    "CudnnRNNV3",
    f"{_STATE}, sequence_lengths: int32 -> {_RESULT}, reserve_space: T, host_reserved: int8",
    T=_FLOATS,
    **_MODEL,
    num_proj=0,
    is_training=True,
    time_major=True,
    stateful=True,
    random=True,
    host="sequence_lengths, host_reserved",
    infer=_forward_shapes,
    doc="Runs a recurrent network of one or more layers over sequences of different lengths.",
)
cudnn_rnn_backprop_v3_op = stateful_op(
    "CudnnRNNBackpropV3",
    f"{_STATE}, sequence_lengths: int32, {_RESULT}, {_GRADIENTS}, reserve_space: T, host_reserved: int8 -> {_BACKPROP}",
    "Computes the gradients of CudnnRNNV3.",
    T=_FLOATS,
    **_MODEL,
    num_proj=0,
    time_major=True,
    host="sequence_lengths, host_reserved",
    infer=_backward_shapes,
)
cudnn_rnn_params_size_op = nondifferentiable_op(
    "CudnnRNNParamsSize",
    f"{_SIZES} -> params_size: S",
    "Returns the number of parameters of a recurrent network.",
    T=attr.types(_FLOATS),
    S=attr.types(dtypes.INDEX),
    **_MODEL,
    num_proj=0,
    host="num_layers, num_units, input_size",
    infer=_size_shape,
)
cudnn_rnn_params_to_canonical_op = nondifferentiable_op(
    "CudnnRNNParamsToCanonical",
    f"{_SIZES}, params: T -> weights: num_params*T, biases: num_params*T",
    "Splits the parameters of a recurrent network into a matrix and a bias for each gate.",
    T=_FLOATS,
    num_params=attr.integer(1),
    **_MODEL,
    host="num_layers, num_units, input_size",
    infer=_canonical_shapes,
)
cudnn_rnn_canonical_to_params_op = nondifferentiable_op(
    "CudnnRNNCanonicalToParams",
    f"{_SIZES}, weights: num_params*T, biases: num_params*T -> params: T",
    "Joins the matrices and biases of all gates into the parameters of a recurrent network.",
    T=_FLOATS,
    num_params=attr.integer(1),
    **_MODEL,
    host="num_layers, num_units, input_size",
    infer=_opaque_shape,
)
