"""RNN cell wrappers: input and output projection, embedding, attention over past outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph import nest
from thalweg._src.graph.ops.concat import concat, split
from thalweg._src.graph.ops.convolution import conv2d
from thalweg._src.graph.ops.math import tanh
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import softmax
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, reshape
from thalweg._src.graph.ops.slicing import slice as slice_of
from thalweg._src.graph.scopes import device, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.embedding import embedding_lookup
from thalweg._src.training.nn.layers.named import activation_of
from thalweg._src.training.nn.rnn.cells import RNNCell, affine, require_cell
from thalweg._src.training.variables.initializers import RandomUniform, Zeros
from thalweg._src.training.variables.variable_scope import ReuseMode, get_variable, get_variable_scope, variable_scope


def linear(
    args: object,
    output_size: int,
    bias: bool = True,
    bias_initializer: Any = None,
    kernel_initializer: Any = None,
) -> Tensor:
    """Returns the concatenated arguments times a kernel plus a bias, variables of the current scope."""
    tensors: Sequence[Any] = args if isinstance(args, list | tuple) else [args]
    depth = 0
    for tensor in tensors:
        if tensor.dims is None or len(tensor.dims) != 2 or tensor.dims[1] is None:
            raise ValueError(f"linear expects matrices of known width, saw {tensor.shape}")
        depth += tensor.dims[1]
    dtype = tensors[0].dtype
    kernel = get_variable("kernel", [depth, output_size], dtype, kernel_initializer)
    if not bias:
        return matmul(concat(list(tensors), 1) if len(tensors) > 1 else tensors[0], kernel)
    return affine(tensors, kernel, get_variable("bias", [output_size], dtype, bias_initializer or Zeros()))


class _CellWrapper(RNNCell):
    """The base class of wrappers whose variables are created in their own scope."""

    state_size = ReadOnly[Any]("The size of the state.", "_cell.state_size")
    output_size = ReadOnly[Any]("The size of the output.", "_cell.output_size")

    def __init__(self, cell: RNNCell, reuse: bool | ReuseMode | None = None) -> None:
        super().__init__(_reuse=reuse)
        require_cell("cell", cell)
        self._cell = cell

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns a state of zeros of the wrapped cell."""
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)


@export("contrib.rnn.InputProjectionWrapper")
class InputProjectionWrapper(_CellWrapper):
    """Projects the inputs of a cell.

    Args:
        num_proj: Size of the projected input.
        activation: Activation of the projection; None applies none.
    """

    def __init__(
        self,
        cell: RNNCell,
        num_proj: int,
        activation: Callable[..., Any] | None = None,
        input_size: Any = None,
        reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._num_proj = num_proj
        self._activation = activation_of(activation)

    def call(self, inputs: TensorLike, state: object) -> Any:
        """Runs one step."""
        projected = linear(inputs, self._num_proj)
        return self._cell(projected if self._activation is None else self._activation(projected), state)


@export("contrib.rnn.OutputProjectionWrapper")
class OutputProjectionWrapper(_CellWrapper):
    """Projects the outputs of a cell.

    Args:
        output_size: Size of the projected output.
        activation: Activation of the projection; None applies none.
    """

    output_size = ReadOnly[Any]("The size of the output.")

    def __init__(
        self,
        cell: RNNCell,
        output_size: int,
        activation: Callable[..., Any] | None = None,
        reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size = output_size
        self._activation = activation_of(activation)

    def call(self, inputs: TensorLike, state: object) -> Any:
        """Runs one step."""
        output, state = self._cell(inputs, state)
        projected = linear(output, self._output_size)
        return projected if self._activation is None else self._activation(projected), state


@export("contrib.rnn.EmbeddingWrapper")
class EmbeddingWrapper(_CellWrapper):
    """Embeds the integer inputs of a cell.

    Args:
        embedding_classes: Number of different inputs.
        embedding_size: Size of the vector of an input.
        initializer: Initializer of the table.
    """

    def __init__(
        self,
        cell: RNNCell,
        embedding_classes: int,
        embedding_size: int,
        initializer: Callable[..., Any] | None = None,
        reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                f"Both embedding_classes and embedding_size must be > 0: {embedding_classes}, {embedding_size}."
            )
        self._embedding_classes = embedding_classes
        self._embedding_size = embedding_size
        self._initializer = initializer

    def call(self, inputs: TensorLike, state: object) -> Any:
        """Runs one step."""
        with device("/cpu:0"):
            root = math.sqrt(3)  # gives a variance of one
            initializer = self._initializer or get_variable_scope().initializer or RandomUniform(-root, root)
            dtype = nest.flatten(state)[0].dtype
            table = get_variable(
                "embedding", [self._embedding_classes, self._embedding_size], dtype, initializer=initializer
            )
            embedded = embedding_lookup(table, reshape(inputs, [-1]))
            return self._cell(embedded, state)


@export("contrib.rnn.AttentionCellWrapper")
class AttentionCellWrapper(_CellWrapper):
    """Adds attention over the last outputs to a cell, after Bahdanau et al.

    Args:
        attn_length: Number of past steps to attend to.
        attn_size: Size of an attention vector; by default that of the output.
        attn_vec_size: Size of the hidden layer of the attention; by default `attn_size`.
        input_size: Size of the inputs of the cell; by default their own.
    """

    output_size = ReadOnly[Any]("The size of the output.", "_attn_size")

    def __init__(
        self,
        cell: RNNCell,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if nest.is_nested(cell.state_size) and not state_is_tuple:
            raise ValueError(
                f"The cell has a nested state, which state_is_tuple=False cannot join: received size {cell.state_size}"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._attn_length = attn_length
        self._attn_size = attn_size or cell.output_size
        self._attn_vec_size = attn_vec_size or self._attn_size
        self._input_size = input_size
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        sizes = (self._cell.state_size, self._attn_size, self._attn_size * self._attn_length)
        return sizes if self._state_is_tuple else sum(sizes)

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns a state of zeros."""
        return RNNCell.zero_state(self, batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> Any:
        """Runs one step."""
        width = self._attn_size * self._attn_length
        if not self._state_is_tuple:
            state = split(state, [self._cell.state_size, self._attn_size, width], axis=1)
        inner, attended, past = state
        past = reshape(past, [-1, self._attn_length, self._attn_size])
        inputs = linear([inputs, attended], self._input_size or inputs.shape.as_list()[1])
        output, inner = self._cell(inputs, inner)
        flat = nest.flatten(inner)
        attended, past = self._attention(concat(flat, 1) if len(flat) > 1 else flat[0], past)
        with variable_scope("attn_output_projection"):
            output = linear([output, attended], self._attn_size)
        past = reshape(concat([past, expand_dims(output, 1)], 1), [-1, width])
        after = (inner, attended, past)
        return output, after if self._state_is_tuple else concat(list(after), 1)

    def _attention(self, query: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the attention over past outputs for a query, and these outputs without the oldest."""
        with variable_scope("attention"):
            k = get_variable("attn_w", [1, 1, self._attn_size, self._attn_vec_size], query.dtype)
            v = get_variable("attn_v", [self._attn_vec_size], query.dtype)
            hidden = reshape(past, [-1, self._attn_length, 1, self._attn_size])
            features = conv2d(hidden, k, [1, 1, 1, 1], "SAME")
            y = reshape(linear(query, self._attn_vec_size), [-1, 1, 1, self._attn_vec_size])
            weights = softmax(reduce_sum(v * tanh(features + y), [2, 3]))
            mean = reduce_sum(reshape(weights, [-1, self._attn_length, 1, 1]) * hidden, [1, 2])
            return reshape(mean, [-1, self._attn_size]), slice_of(past, [0, 1, 0], [-1, -1, -1])
