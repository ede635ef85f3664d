"""Linear-chain conditional random fields: scores, log-likelihood and Viterbi decoding.

The score of a sequence of tags is the sum of the unary potentials of its tags and of the transition scores of
neighbouring pairs. Steps past the length of a sequence do not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import less_equal
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.gather import gather, gather_nd
from thalweg._src.graph.ops.math import maximum
from thalweg._src.graph.ops.pad_tile import reverse_sequence
from thalweg._src.graph.ops.reduction import argmax, reduce_max, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, shape as shape_of, squeeze, zeros_like
from thalweg._src.graph.ops.where import sequence_mask, where
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.rnn.cells import RNNCell
from thalweg._src.training.nn.rnn.dynamic import dynamic_rnn
from thalweg._src.training.nn.statistics import reduce_logsumexp
from thalweg._src.training.variables.variable_scope import VariableScope, get_variable


@export("contrib.crf.crf_sequence_score")
def crf_sequence_score(
    inputs: TensorLike, tag_indices: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike
) -> Tensor:
    """Returns the score of each sequence of tags: potentials [batch, time, tags], indices [batch, time].

    Args:
        inputs: Unary scores [batch, time, tags].
    """
    inputs = _potentials(inputs)
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)


@export("contrib.crf.crf_multitag_sequence_score")
def crf_multitag_sequence_score(
    inputs: TensorLike, tag_bitmap: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike
) -> Tensor:
    """Returns the log-sum-exp of the scores of the sequences whose tags are all set in a mask.

    Args:
        inputs: Unary scores [batch, time, tags].
    """
    inputs = _potentials(inputs)
    bits = convert_to_tensor(tag_bitmap, dtypes.bool, name="tag_bitmap")
    allowed = where(bits, inputs, zeros_like(inputs) - cast(float("inf"), inputs.dtype))
    return crf_log_norm(allowed, sequence_lengths, transition_params)


@export("contrib.crf.crf_log_norm")
def crf_log_norm(inputs: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike) -> Tensor:
    """Returns the log partition function: the log-sum-exp of the scores of all sequences; 0 for an empty sequence.

    Args:
        inputs: Unary scores [batch, time, tags].
    """
    inputs = _potentials(inputs)
    lengths = _lengths(sequence_lengths)
    _, alphas = dynamic_rnn(
        CrfForwardRnnCell(transition_params),
        inputs[:, 1:],
        sequence_length=maximum(lengths - 1, 0),
        initial_state=inputs[:, 0],
        dtype=inputs.dtype,
    )
    log_norm = reduce_logsumexp(alphas, [1])
    return where(less_equal(lengths, 0), zeros_like(log_norm), log_norm)


@export("contrib.crf.crf_log_likelihood")
def crf_log_likelihood(
    inputs: TensorLike,
    tag_indices: TensorLike,
    sequence_lengths: TensorLike,
    transition_params: TensorLike | None = None,
) -> tuple[Tensor, Any]:
    """Returns the log-likelihood of each sequence of tags, and the transition scores, by default a variable.

    Args:
        inputs: Unary scores [batch, time, tags].
        transition_params: Transition scores [tags, tags]; None makes a variable.
    """
    inputs = _potentials(inputs)
    if transition_params is None:
        tags = inputs.shape[2].value
        if tags is None:
            raise ValueError("inputs: the number of tags, the last dimension, must be known to make transition scores")
        transition_params = get_variable("transitions", [tags, tags], inputs.dtype)
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


@export("contrib.crf.crf_unary_score")
def crf_unary_score(tag_indices: TensorLike, sequence_lengths: TensorLike, inputs: TensorLike) -> Tensor:
    """Returns the summed potentials of the tags of each sequence.

    Args:
        inputs: Unary scores [batch, time, tags].
    """
    inputs, tags = _potentials(inputs), convert_to_tensor(tag_indices, name="tag_indices")
    chosen = squeeze(gather(inputs, expand_dims(tags, 2), batch_dims=2), [2])
    return reduce_sum(chosen * sequence_mask(_lengths(sequence_lengths), shape_of(tags)[1], inputs.dtype), 1)


@export("contrib.crf.crf_binary_score")
def crf_binary_score(tag_indices: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike) -> Tensor:
    """Returns the summed transition scores of the neighbours in each sequence of tags."""
    scores, tags = convert_to_tensor(transition_params), convert_to_tensor(tag_indices, name="tag_indices")
    pairs = concat([expand_dims(tags[:, :-1], 2), expand_dims(tags[:, 1:], 2)], 2)
    mask = sequence_mask(maximum(_lengths(sequence_lengths) - 1, 0), shape_of(tags)[1] - 1, scores.dtype)
    return reduce_sum(gather_nd(scores, pairs) * mask, 1)


def _potentials(inputs: Any) -> Tensor:
    inputs = convert_to_tensor(inputs, name="inputs")
    inputs.get_shape().assert_has_rank(3)
    return inputs  # type: ignore[no-any-return]


def _lengths(sequence_lengths: object) -> Tensor:
    return convert_to_tensor(sequence_lengths, name="sequence_lengths")


class _ChainCell(RNNCell):
    """A cell with one number per tag in state and output."""

    state_size = ReadOnly[Any]("The size of the state.", "_num_tags")
    output_size = ReadOnly[Any]("The size of the output.", "_num_tags")

    def __init__(self, num_tags: Any) -> None:
        super().__init__()
        self._num_tags = num_tags

    def __call__(
        self, inputs: TensorLike, state: Any, scope: str | VariableScope | None = None, *args: Any, **kwargs: Any
    ) -> Any:
        """Runs one step, without a variable scope: there are no variables."""
        return self.call(inputs, state)


class _TransitionCell(_ChainCell):
    """A cell with transition scores."""

    def __init__(self, transition_params: TensorLike) -> None:
        scores = convert_to_tensor(transition_params, name="transition_params")
        scores.get_shape().assert_has_rank(2)
        self._scores = expand_dims(scores, 0)
        super().__init__(scores.shape[0].value)


@export("contrib.crf.CrfForwardRnnCell")
class CrfForwardRnnCell(_TransitionCell):
    """Computes the log-sum-exp of the scores of all sequences that end in each tag."""

    def call(self, inputs: TensorLike, state: Any) -> Any:
        """Runs one step of the forward algorithm."""
        alphas = inputs + reduce_logsumexp(expand_dims(state, 2) + self._scores, [1])
        return alphas, alphas


@export("contrib.crf.CrfDecodeForwardRnnCell")
class CrfDecodeForwardRnnCell(_TransitionCell):
    """Computes the score of the best sequence that ends in each tag, and returns back-pointers."""

    def call(self, inputs: TensorLike, state: Any) -> Any:
        """Runs one step of the Viterbi algorithm."""
        scores = expand_dims(state, 2) + self._scores
        return cast(argmax(scores, 1), dtypes.int32), inputs + reduce_max(scores, [1])


@export("contrib.crf.CrfDecodeBackwardRnnCell")
class CrfDecodeBackwardRnnCell(_ChainCell):
    """Follows the back-pointers of the forward cell from a tag to its predecessor."""

    @property
    def state_size(self) -> Any:
        return 1

    @property
    def output_size(self) -> Any:
        return 1

    def call(self, inputs: TensorLike, state: Any) -> Any:
        """Runs one step backward."""
        tags = gather(inputs, state, batch_dims=1)
        return tags, tags


@export("contrib.crf.crf_decode")
def crf_decode(
    potentials: TensorLike, transition_params: TensorLike, sequence_length: TensorLike
) -> tuple[Tensor, Tensor]:
    """Returns the best sequence of tags, [batch, time] of int32, and its score; 0 past the end of a sequence."""
    potentials = _potentials(potentials)
    lengths = _lengths(sequence_length)
    steps = maximum(lengths - 1, 0)
    back, scores = dynamic_rnn(
        CrfDecodeForwardRnnCell(transition_params),
        potentials[:, 1:],
        sequence_length=steps,
        initial_state=potentials[:, 0],
        dtype=dtypes.int32,
    )
    last = expand_dims(cast(argmax(scores, 1), dtypes.int32), 1)
    tags, _ = dynamic_rnn(
        CrfDecodeBackwardRnnCell(potentials.shape[2].value),
        reverse_sequence(back, steps, seq_dim=1),
        sequence_length=steps,
        initial_state=last,
        dtype=dtypes.int32,
    )
    # At least one: reversing an empty sequence changes nothing, and its tag is never read.
    tags = reverse_sequence(concat([last, squeeze(tags, [2])], 1), maximum(lengths, 1), seq_dim=1)
    return tags, reduce_max(scores, 1)


@export("contrib.crf.viterbi_decode")
def viterbi_decode(score: TensorLike, transition_params: TensorLike) -> tuple[list[int], Any]:
    """Returns the best sequence of tags and its score, from NumPy arrays [time, tags] and [tags, tags].

    Args:
        score: Unary scores [time, tags].
    """
    score, transition_params = np.asarray(score), np.asarray(transition_params)
    if score.ndim != 2:
        raise ValueError(f"score: expected an array [time, tags], received shape {score.shape}")
    best, back = score[0], np.zeros(score.shape, np.int64)
    for t in range(1, len(score)):
        candidates = best[:, None] + transition_params
        back[t] = candidates.argmax(0)
        best = score[t] + candidates.max(0)
    tags = [int(best.argmax())]
    for pointers in back[:0:-1]:
        tags.append(int(pointers[tags[-1]]))
    return tags[::-1], best.max()
