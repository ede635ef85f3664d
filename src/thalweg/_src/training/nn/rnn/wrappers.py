"""RNN cell wrappers: dropout, residual connections, device."""

from __future__ import annotations

import hashlib
import itertools
import numbers
from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike, as_shape
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.math import divide, floor
from thalweg._src.graph.ops.random import random_uniform
from thalweg._src.graph.ops.reshape import constant_value
from thalweg._src.graph.scopes import device as device_scope, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.dropout import dropout
from thalweg._src.training.nn.rnn.cells import LSTMStateTuple, RNNCell, require_cell
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.variables.variable_scope import VariableScope


class CellWrapper(RNNCell):
    """The base class of wrappers, which delegate to another cell; its variables keep their names."""

    wrapped_cell = ReadOnly[Any]("The wrapped cell.", "cell")
    state_size = ReadOnly[Any]("The size of the state.", "cell.state_size")
    output_size = ReadOnly[Any]("The size of the output.", "cell.output_size")

    def __init__(self, cell: RNNCell, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        require_cell("cell", cell)
        self.cell = cell

    @property
    def _cell(self) -> Any:
        return self.cell

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables of the wrapped cell."""
        return list(self.cell.trainable_weights)

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables of the wrapped cell that are not trained."""
        return list(self.cell.non_trainable_weights)

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns a state of zeros of the wrapped cell."""
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            return self.cell.zero_state(batch_size, dtype)

    def __call__(
        self,
        inputs: TensorLike,
        state: NestedTensors,
        scope: str | VariableScope | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Runs one step."""
        if scope is not None:
            kwargs["scope"] = scope
        return self._step(inputs, state, *args, **kwargs)

    def _step(self, inputs: NestedTensors, state: NestedTensors, *args: Any, **kwargs: Any) -> Any:
        return self.cell(inputs, state, *args, **kwargs)


def _default_dropout_filter(substate: NestedTensors) -> Any:
    """Returns which parts of a state get dropout by default: all but the cell state of an LSTM."""
    if isinstance(substate, LSTMStateTuple):
        return LSTMStateTuple(False, True)
    return not isinstance(substate, TensorArray)


@export("nn.rnn_cell.DropoutWrapper", "contrib.rnn.DropoutWrapper")
class DropoutWrapper(CellWrapper):
    """Applies dropout to inputs, outputs and states; with variational_recurrent, one mask for all steps.

    Args:
        input_keep_prob: Probability that an input is kept.
        output_keep_prob: Probability that an output is kept.
        state_keep_prob: Probability that an element of the state is kept.
        variational_recurrent: Whether the same mask is used in all steps; needs `dtype`.
        input_size: Shape of the inputs, needed for a variational input mask.
        dtype: Type of the inputs, states and outputs, needed for `variational_recurrent`.
        seed: Seed of the masks.
        dropout_state_filter_visitor: Function that says which parts of the state dropout applies to.
    """

    def __init__(
        self,
        cell: RNNCell,
        input_keep_prob: TensorLike = 1.0,
        output_keep_prob: TensorLike = 1.0,
        state_keep_prob: TensorLike = 1.0,
        variational_recurrent: bool = False,
        input_size: ShapeLike | TensorLike = None,
        dtype: DTypeLike | None = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._filter = dropout_state_filter_visitor or _default_dropout_filter
        with name_scope("DropoutWrapperInit"):
            self._input_keep_prob = _probability("input_keep_prob", input_keep_prob)
            self._state_keep_prob = _probability("state_keep_prob", state_keep_prob)
            self._output_keep_prob = _probability("output_keep_prob", output_keep_prob)
        self._variational_recurrent = variational_recurrent
        self._seed = seed
        self._noise: dict[str, Any] = {}
        if not variational_recurrent:
            return
        if dtype is None:
            raise ValueError("variational_recurrent=True needs dtype")
        if _drops(self._input_keep_prob):
            if input_size is None:
                raise ValueError("variational_recurrent=True needs input_size, unless input_keep_prob is 1")
            self._noise["input"] = self._noises("input", input_size, dtype)
        self._noise["state"] = self._noises("state", cell.state_size, dtype)
        self._noise["output"] = self._noises("output", cell.output_size, dtype)

    def _noises(self, where: str, sizes: NestedTensors, dtype: DTypeLike) -> list[Tensor]:
        """Returns the noise of all steps, shared by all examples of a batch."""
        return [
            random_uniform(
                [1, *(as_shape(size) or ())], dtype=dtypes.as_dtype(dtype), seed=self._seed_of(where, number)
            )
            for number, size in enumerate(nest.flatten(sizes))
        ]

    def _seed_of(self, where: str, number: int) -> int | None:
        """Returns a distinct seed for each value with dropout."""
        if self._seed is None:
            return None
        digest = hashlib.md5(f"{self._seed}{where}_{number}".encode(), usedforsecurity=False).hexdigest()
        return int(digest[:8], 16) & 0x7FFFFFFF

    def _drop(self, where: str, keep_prob: Any, values: NestedTensors, chosen: NestedTensors = None) -> Any:
        """Applies dropout to the selected leaves of a structure."""
        counter = itertools.count()

        def drop(value: NestedTensors, is_dropped: NestedTensors) -> Any:
            number = next(counter)
            if is_dropped is False:
                return value
            if not self._variational_recurrent:
                return dropout(value, rate=1.0 - keep_prob, seed=self._seed_of(where, number))
            mask = floor(keep_prob + self._noise[where][number])
            result = divide(value, keep_prob) * mask
            result.set_shape(value.dims)
            return result

        def walk(value: NestedTensors, choice: NestedTensors) -> Any:
            if not nest.is_nested(value):
                return drop(value, choice)
            choices = choice if nest.is_nested(choice) else nest.map_structure(lambda _: choice, value)
            leaves = [walk(v, w) for v, w in zip(nest.children(value), nest.children(choices))]
            return nest.rebuilt(value, leaves)

        return walk(values, chosen)

    def _chosen(self, state: NestedTensors) -> Any:
        """Returns which parts of a state get dropout: all, none, or a structure of booleans."""
        answer = self._filter(state)
        if not isinstance(answer, bool):
            return answer
        if not answer or not nest.is_nested(state):
            return answer
        return [self._chosen(substate) for substate in nest.children(state)]

    def _step(self, inputs: NestedTensors, state: NestedTensors, *args: Any, **kwargs: Any) -> Any:
        if _drops(self._input_keep_prob):
            inputs = self._drop("input", self._input_keep_prob, inputs)
        output, state = self.cell(inputs, state, *args, **kwargs)
        if _drops(self._state_keep_prob):
            state = self._drop("state", self._state_keep_prob, state, self._chosen(state))
        if _drops(self._output_keep_prob):
            output = self._drop("output", self._output_keep_prob, output)
        return output, state


def _probability(name: str, value: TensorLike) -> Any:
    tensor = convert_to_tensor(value)
    static_probability = constant_value(tensor)
    if static_probability is None:
        return tensor
    if not 0 <= static_probability <= 1:
        raise ValueError(f"{name}: expected a number from 0 to 1, received {static_probability}")
    return float(static_probability)


def _drops(keep_prob: float | Tensor) -> bool:
    return not isinstance(keep_prob, numbers.Real) or keep_prob < 1


@export("nn.rnn_cell.ResidualWrapper", "contrib.rnn.ResidualWrapper")
class ResidualWrapper(CellWrapper):
    """Adds the inputs of a cell to its outputs, or combines both by a function."""

    def __init__(self, cell: RNNCell, residual_fn: Callable[..., Any] | None = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _step(self, inputs: NestedTensors, state: NestedTensors, *args: Any, **kwargs: Any) -> Any:
        outputs, state = self.cell(inputs, state, *args, **kwargs)
        return (self._residual_fn or _added)(inputs, outputs), state


def _added(inputs: NestedTensors, outputs: NestedTensors) -> Any:
    nest.assert_same_structure(inputs, outputs)
    for step_input, output in zip(nest.flatten(inputs), nest.flatten(outputs)):
        step_input.get_shape().assert_is_compatible_with(output.get_shape())
    return nest.map_structure(lambda step_input, output: step_input + output, inputs, outputs)


@export("nn.rnn_cell.DeviceWrapper", "contrib.rnn.DeviceWrapper")
class DeviceWrapper(CellWrapper):
    """Runs a cell on a device."""

    def __init__(self, cell: RNNCell, device: str | DeviceSpec | Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns a state of zeros, on the device."""
        with device_scope(self._device):
            return super().zero_state(batch_size, dtype)

    def _step(self, inputs: NestedTensors, state: NestedTensors, *args: Any, **kwargs: Any) -> Any:
        with device_scope(self._device):
            return self.cell(inputs, state, *args, **kwargs)
