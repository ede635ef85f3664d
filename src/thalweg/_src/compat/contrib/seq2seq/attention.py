"""Attention mechanisms, and AttentionWrapper, a cell with attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import rsqrt, square, tanh
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import softmax
from thalweg._src.graph.ops.reduction import argmax, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, reshape, shape, squeeze, zeros
from thalweg._src.graph.ops.where import one_hot, sequence_mask, where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.layers.dense import Dense
from thalweg._src.training.nn.rnn.cells import RNNCell, require_cell
from thalweg._src.training.nn.rnn.sizes import zeros_like_sizes, zeros_of
from thalweg._src.training.variables.initializers import Constant, Ones, Zeros
from thalweg._src.training.variables.variable_scope import get_variable, variable_scope


@export("contrib.seq2seq.hardmax")
def hardmax(logits: TensorLike, name: str | None = None) -> Tensor:
    """Returns one-hot vectors of the largest logit.

    Args:
        logits: The scores, along the last dimension.
    """
    with name_scope(name, "Hardmax", [logits]):
        logits = convert_to_tensor(logits)
        logits.shape.with_rank_at_least(1)
        depth = logits.shape[-1].value or shape(logits)[-1]
        return one_hot(argmax(logits, -1), depth, dtype=logits.dtype)


@export("contrib.seq2seq.AttentionMechanism")
class AttentionMechanism:
    """The base class of attention mechanisms."""

    @property
    def alignments_size(self) -> Any:
        """The number of memory entries."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """The size of the state."""
        raise NotImplementedError


class _Mechanism(AttentionMechanism):
    """The implementation of attention mechanisms: memory (the values), keys and masks."""

    memory_layer = ReadOnly[Any]("The layer from the memory to the keys.")
    query_layer = ReadOnly[Any]("The layer applied to queries, or None.")
    values = ReadOnly[Any]("The memory, with zeros past the end of each sequence.")
    keys = ReadOnly[Any]("The keys that queries are compared with.")
    batch_size = ReadOnly[Any]("The batch size.")
    alignments_size = ReadOnly[Any]("The number of memory entries.")
    state_size = ReadOnly[Any]("The size of the state.", "_alignments_size")

    def __init__(
        self,
        query_layer: Any,
        memory_layer: Any,
        memory: TensorLike,
        memory_sequence_length: TensorLike | None,
        probability_fn: Callable[[Any], Any] | None,
        score_mask_value: TensorLike | None,
        name: str,
        dtype: DTypeLike | None,
    ) -> None:
        self._query_layer = query_layer
        self._memory_layer = memory_layer
        self._name = name
        self.dtype = dtypes.as_dtype(dtype or dtypes.float32)
        self._probability_fn = probability_fn or softmax
        with name_scope(None, "BaseAttentionMechanismInit", [memory]):
            memory = convert_to_tensor(memory, name="memory")
            self._lengths = memory_sequence_length
            self._mask: Any = None
            if memory_sequence_length is not None:
                self._lengths = convert_to_tensor(memory_sequence_length)
                self._mask = sequence_mask(self._lengths, maxlen=shape(memory)[1])
                marks = cast(self._mask, memory.dtype)
                extra = [1] * (len(memory.dims or ()) - 2)
                dims = memory.dims
                memory = memory * reshape(marks, concat([shape(marks), extra], 0))
                memory.set_shape(dims)
            self._values = memory
            self._keys = memory if memory_layer is None else memory_layer(memory)
            dims = self._keys.dims
            self._batch_size: Any = dims[0] if dims and dims[0] is not None else shape(self._keys)[0]
            self._alignments_size: Any = dims[1] if dims and dims[1] is not None else shape(self._keys)[1]
            self._score_mask_value = float("-inf") if score_mask_value is None else score_mask_value

    def initial_alignments(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns the alignments before the first step: zeros."""
        return zeros_of(batch_size, self._alignments_size, dtype)

    def initial_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns the state before the first step: the initial alignments."""
        return self.initial_alignments(batch_size, dtype)

    def _multiplicative_score(self, query: Any, scale: bool) -> Any:
        """Returns the product of the query and each key, after Luong et al."""
        if query.shape[-1].value != self._keys.shape[-1].value:
            raise ValueError(
                f"Incompatible or unknown inner dimensions between query and keys: query {query.shape}, keys "
                f"{self._keys.shape}. Perhaps you need to set num_units to the keys' dimension?"
            )
        score = squeeze(matmul(expand_dims(query, 1), self._keys, transpose_b=True), [1])
        if scale:
            score = score * get_variable("attention_g", dtype=query.dtype, initializer=Ones(), shape=())
        return score

    def _additive_score(self, query: Any, units: int, normalize: bool) -> Any:
        """Returns the weighted tanh of the sum of the query and each key, after Bahdanau et al."""
        together = self._keys + expand_dims(self._query_layer(query), 1)
        v: Any = get_variable("attention_v", [units], dtype=query.dtype)
        if normalize:
            g = get_variable("attention_g", dtype=query.dtype, initializer=Constant(units**-0.5), shape=())
            together = together + get_variable("attention_b", [units], dtype=query.dtype, initializer=Zeros())
            v = g * v * rsqrt(reduce_sum(square(v)))
        return reduce_sum(v * tanh(together), [2])

    def _alignments(self, score: Any) -> tuple[Any, Any]:
        """Returns the alignments, zero beyond the length of the memory, also as the next state."""
        if self._mask is not None:
            score = where(self._mask, score, ones_like(score) * self._score_mask_value)
        shares = self._probability_fn(score)
        return shares, shares


@export("contrib.seq2seq.LuongAttention")
class LuongAttention(_Mechanism):
    """Multiplicative attention, after Luong et al.

    Args:
        memory: What is attended to, [batch, length, size].
    """

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike | None = None,
        scale: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str = "LuongAttention",
    ) -> None:
        layer = Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype or dtypes.float32)
        super().__init__(None, layer, memory, memory_sequence_length, probability_fn, score_mask_value, name, dtype)
        self._num_units = num_units
        self._scale = scale
        if custom_key_value_fn is not None:
            self._keys, self._values = custom_key_value_fn(self._keys, self._values)

    def __call__(self, query: TensorLike, state: Any) -> tuple[Any, Any]:
        """Returns the alignments for a query, and the next state."""
        with variable_scope(None, "luong_attention", [query]):
            return self._alignments(self._multiplicative_score(query, self._scale))


@export("contrib.seq2seq.BahdanauAttention")
class BahdanauAttention(_Mechanism):
    """Additive attention, after Bahdanau et al.

    Args:
        memory: What is attended to, [batch, length, size].
    """

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike | None = None,
        normalize: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str = "BahdanauAttention",
    ) -> None:
        kind = dtype or dtypes.float32
        query_layer = Dense(num_units, name="query_layer", use_bias=False, dtype=kind)
        memory_layer = Dense(num_units, name="memory_layer", use_bias=False, dtype=kind)
        super().__init__(
            query_layer, memory_layer, memory, memory_sequence_length, probability_fn, score_mask_value, name, dtype
        )
        self._num_units = num_units
        self._normalize = normalize
        if custom_key_value_fn is not None:
            self._keys, self._values = custom_key_value_fn(self._keys, self._values)

    def __call__(self, query: TensorLike, state: Any) -> tuple[Any, Any]:
        """Returns the alignments for a query, and the next state."""
        with variable_scope(None, "bahdanau_attention", [query]):
            return self._alignments(self._additive_score(query, self._num_units, self._normalize))


@export("contrib.seq2seq.AttentionWrapperState")
class AttentionWrapperState(NamedTuple):
    """The state of an AttentionWrapper: cell state, attention and alignments.

    Args:
        cell_state: State of the cell.
        attention: The last attention vector.
        time: Number of the step.
        alignments: The last alignments.
        alignment_history: Alignments of all steps, or ().
        attention_state: State of the mechanism.
    """

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """Returns a copy with some fields, such as cell_state, replaced."""
        return self._replace(**kwargs)


@export("contrib.seq2seq.AttentionWrapper")
class AttentionWrapper(RNNCell):
    """Wraps a cell with attention over one or more memories."""

    def __init__(
        self,
        cell: RNNCell,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[..., Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Callable[..., Any] | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        require_cell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, list | tuple)
        self._mechanisms = tuple(attention_mechanism) if self._is_multi else (attention_mechanism,)
        for mechanism in self._mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(f"attention_mechanism must be an AttentionMechanism, got {type(mechanism).__name__}")
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        self._cell = cell
        self._layers = self._attention_layers(attention_layer_size, attention_layer)
        self._attention_layer_size = sum(self._widths())
        self._cell_input_fn = cell_input_fn or (lambda inputs, attention: concat([inputs, attention], -1))
        self._attention_fn = attention_fn or _attended
        self._output_attention = output_attention
        self._alignment_history = alignment_history
        self._initial_cell_state = initial_cell_state

    def _attention_layers(self, sizes: Any, layers: Any) -> tuple[Any, ...]:
        count = len(self._mechanisms)
        per_mechanism = sizes if sizes is not None else layers
        if per_mechanism is None:
            return (None,) * count
        per_mechanism = tuple(per_mechanism) if isinstance(per_mechanism, list | tuple) else (per_mechanism,)
        if len(per_mechanism) != count:
            raise ValueError(f"there are {count} attention mechanisms, but {len(per_mechanism)} attention layers")
        if sizes is None:
            return per_mechanism
        return tuple(
            Dense(size, name="attention_layer", use_bias=False, dtype=mechanism.dtype)
            for size, mechanism in zip(per_mechanism, self._mechanisms)
        )

    def _widths(self) -> list[int]:
        """Returns the size of each attention."""
        widths = []
        for layer, mechanism in zip(self._layers, self._mechanisms):
            depth = mechanism.values.shape[-1].value
            if layer is None:
                widths.append(depth)
            else:
                inputs = [None, self._cell.output_size + depth]
                widths.append(getattr(layer, "units", None) or layer.compute_output_shape(inputs)[-1].value)
        return widths

    def _one_or_all(self, values: Any) -> Any:
        values = tuple(values)
        return values if self._is_multi else values[0]

    @property
    def output_size(self) -> Any:
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> Any:
        sizes = [mechanism.alignments_size for mechanism in self._mechanisms]
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            attention=self._attention_layer_size,
            time=[],
            alignments=self._one_or_all(sizes),
            alignment_history=self._one_or_all(s if self._alignment_history else () for s in sizes),
            attention_state=self._one_or_all(mechanism.state_size for mechanism in self._mechanisms),
        )

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns the initial state of the cell, with zero attention."""
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            if self._initial_cell_state is not None:
                cell_state = self._initial_cell_state
            else:
                cell_state = self._cell.zero_state(batch_size, dtype)
            alignments = [mechanism.initial_alignments(batch_size, dtype) for mechanism in self._mechanisms]
            histories = [
                TensorArray(dtype, size=0, dynamic_size=True, element_shape=first.dims)
                if self._alignment_history
                else ()
                for first in alignments
            ]
            return AttentionWrapperState(
                cell_state=nest.map_structure(lambda s: identity(s, name="checked_cell_state"), cell_state),
                attention=zeros_like_sizes(self._attention_layer_size, batch_size, dtype),
                time=zeros([], dtypes.int32),
                alignments=self._one_or_all(alignments),
                alignment_history=self._one_or_all(histories),
                attention_state=self._one_or_all(m.initial_state(batch_size, dtype) for m in self._mechanisms),
            )

    def call(self, inputs: TensorLike, state: Any) -> Any:
        """Runs one step of the cell, and computes the attention for its output."""
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                f"Expected state to be instance of AttentionWrapperState. Received type {type(state)} instead."
            )
        output, cell_state = self._cell(self._cell_input_fn(inputs, state.attention), state.cell_state)
        before = state.attention_state if self._is_multi else [state.attention_state]
        past = state.alignment_history if self._is_multi else [state.alignment_history]
        attentions, alignments, states, histories = [], [], [], []
        for mechanism, layer, previous, history in zip(self._mechanisms, self._layers, before, past):
            attention, alignment, following = self._attention_fn(mechanism, output, previous, layer)
            attentions.append(attention)
            alignments.append(alignment)
            states.append(following)
            histories.append(history.write(state.time, alignment) if self._alignment_history else ())
        attention = concat(attentions, 1) if len(attentions) > 1 else attentions[0]
        after = AttentionWrapperState(
            cell_state=cell_state,
            attention=attention,
            time=state.time + 1,
            alignments=self._one_or_all(alignments),
            alignment_history=self._one_or_all(histories),
            attention_state=self._one_or_all(states),
        )
        return attention if self._output_attention else output, after


def _attended(mechanism: Any, output: Any, state: Any, layer: Any) -> tuple[Any, Any, Any]:
    """Returns the attention (through the attention layer if there is one), the alignments and the next state."""
    alignments, following = mechanism(output, state=state)
    context = squeeze(matmul(expand_dims(alignments, 1), mechanism.values), [1])
    return context if layer is None else layer(concat([output, context], 1)), alignments, following
