"""Monotonic attention mechanisms, after Raffel et al."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.seq2seq.attention import _Mechanism
from thalweg._src.graph.control_flow.functional import scan
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.math import clip_by_value, exp, log, sigmoid
from thalweg._src.graph.ops.random import random_normal
from thalweg._src.graph.ops.reduction import cumprod, cumsum
from thalweg._src.graph.ops.reshape import ones_like, shape, transpose, zeros, zeros_like
from thalweg._src.graph.ops.where import one_hot, where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.layers.dense import Dense
from thalweg._src.training.variables.initializers import Constant
from thalweg._src.training.variables.variable_scope import get_variable, variable_scope


@export("contrib.seq2seq.safe_cumprod")
def safe_cumprod(x: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
    """Returns cumulative products of numbers in [0, 1] by sums of logs, with finite gradients."""
    with name_scope(None, "SafeCumprod", [x]):
        x = convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.as_numpy_dtype).tiny
        return exp(cumsum(log(clip_by_value(x, tiny, 1)), *args, **kwargs))


@export("contrib.seq2seq.monotonic_attention")
def monotonic_attention(p_choose_i: TensorLike, previous_attention: TensorLike, mode: str) -> Tensor:
    """Returns the attention distribution of a monotonic step from the previous one.

    `p_choose_i` is the probability of stopping at each memory entry. The mode "recursive" is exact, "parallel" is
    faster and less accurate for probabilities near 1, "hard" takes probabilities and the last attention to be 0 or 1.
    """
    p = convert_to_tensor(p_choose_i, name="p_choose_i")
    last = convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        # The probability of passing all entries between the last attention and this one accumulates along the memory.
        passed = concat([ones_like(p[:, :1]), 1 - p[:, :-1]], 1)
        reached = scan(
            lambda total, step: step[0] * total + step[1],
            [transpose(passed), transpose(last)],
            zeros_like(p[:, 0]),
        )
        return p * transpose(reached)
    if mode == "parallel":
        passed = safe_cumprod(1 - p, axis=1, exclusive=True)
        return p * passed * cumsum(last / clip_by_value(passed, 1e-10, 1.0), axis=1)
    if mode == "hard":
        chosen = p * cumsum(last, axis=1)
        return chosen * cumprod(1 - chosen, axis=1, exclusive=True)
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


class _Monotonic(_Mechanism):
    """The base class of monotonic attention mechanisms, whose scores become probabilities of stopping."""

    _sigmoid_noise: float
    _seed: int | None
    _mode: str
    _score_bias_init: float

    def _set(self, sigmoid_noise: float, seed: int | None, score_bias_init: float, mode: str) -> None:
        self._sigmoid_noise, self._seed = sigmoid_noise, seed
        self._score_bias_init, self._mode = score_bias_init, mode

    def initial_alignments(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns the initial alignments, all at the first memory entry."""
        return one_hot(zeros([batch_size], dtypes.int32), self._alignments_size, dtype=dtype)

    def _monotonic_step(self, score: Any, state: Any) -> tuple[Any, Any]:
        """Returns the next alignments, also as the next state."""
        score = score + get_variable(
            "attention_score_bias", dtype=score.dtype, shape=(), initializer=Constant(self._score_bias_init)
        )
        if self._mask is not None:
            score = where(self._mask, score, ones_like(score) * self._score_mask_value)
        if self._sigmoid_noise > 0:
            score = score + self._sigmoid_noise * random_normal(shape(score), dtype=score.dtype, seed=self._seed)
        chances = cast(greater(score, 0), score.dtype) if self._mode == "hard" else sigmoid(score)
        attention = monotonic_attention(chances, state, self._mode)
        attention.set_shape(score.get_shape())
        return attention, attention


@export("contrib.seq2seq.BahdanauMonotonicAttention")
class BahdanauMonotonicAttention(_Monotonic):
    """Monotonic attention with additive scores.

    Args:
        memory: What is attended to, [batch, length, size].
    """

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike | None = None,
        normalize: bool = False,
        score_mask_value: TensorLike | None = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: DTypeLike | None = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        kind = dtype or dtypes.float32
        query_layer = Dense(num_units, name="query_layer", use_bias=False, dtype=kind)
        memory_layer = Dense(num_units, name="memory_layer", use_bias=False, dtype=kind)
        super().__init__(query_layer, memory_layer, memory, memory_sequence_length, None, score_mask_value, name, dtype)
        self._num_units = num_units
        self._normalize = normalize
        self._set(sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode)

    def __call__(self, query: TensorLike, state: Any) -> tuple[Any, Any]:
        """Returns the alignments for a query, and the next state."""
        with variable_scope(None, "bahdanau_monotonic_attention", [query]):
            return self._monotonic_step(self._additive_score(query, self._num_units, self._normalize), state)


@export("contrib.seq2seq.LuongMonotonicAttention")
class LuongMonotonicAttention(_Monotonic):
    """Monotonic attention with multiplicative scores.

    Args:
        memory: What is attended to, [batch, length, size].
    """

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike | None = None,
        scale: bool = False,
        score_mask_value: TensorLike | None = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: DTypeLike | None = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        layer = Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype or dtypes.float32)
        super().__init__(None, layer, memory, memory_sequence_length, None, score_mask_value, name, dtype)
        self._num_units = num_units
        self._scale = scale
        self._set(sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode)

    def __call__(self, query: TensorLike, state: Any) -> tuple[Any, Any]:
        """Returns the alignments for a query, and the next state."""
        with variable_scope(None, "luong_monotonic_attention", [query]):
            return self._monotonic_step(self._multiplicative_score(query, self._scale), state)
