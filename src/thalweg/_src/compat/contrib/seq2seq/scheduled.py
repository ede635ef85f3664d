"""ScheduledOutputTrainingHelper: scheduled sampling of outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import TensorShape
from thalweg._src.compat.contrib.seq2seq.helpers import TrainingHelper
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.comparison import less
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.random import random_uniform
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("contrib.seq2seq.ScheduledOutputTrainingHelper")
class ScheduledOutputTrainingHelper(TrainingHelper):
    """Feeds given sequences, replaced at random by the last outputs.

    `auxiliary_inputs` are concatenated to the inputs in every step.

    Args:
        next_inputs_fn: Function from outputs to inputs, or None.
        auxiliary_inputs: Further inputs that are joined in every step.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: TensorLike,
        sampling_probability: TensorLike,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[[Any], Any] | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        inputs = convert_to_tensor(inputs)
        self._width = inputs.shape.with_rank_at_least(1)[-1].value
        if auxiliary_inputs is not None:
            inputs = concat([inputs, convert_to_tensor(auxiliary_inputs)], -1)
        super().__init__(inputs, sequence_length, time_major, name)
        self._probability = convert_to_tensor(sampling_probability, dtypes.float32, name="sampling_probability")
        if self._probability.dims not in ((), None) and len(self._probability.dims or ()) > 1:
            raise ValueError(
                f"sampling_probability must be either a scalar or a vector. saw shape: {self._probability.shape}"
            )
        self._seed = seed
        self._next_inputs_fn = next_inputs_fn
        self._has_auxiliary = auxiliary_inputs is not None

    @property
    def sample_ids_shape(self) -> Any:
        """The shape of one sample."""
        return TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        """The type of the samples."""
        return dtypes.bool

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Returns the examples whose next input is the last output."""
        return less(random_uniform([self.batch_size], seed=self._seed), self._probability)

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        """Returns the next given inputs, replaced by the outputs for the sampled examples."""
        finished, inputs, state = super().next_inputs(time, outputs, state, sample_ids, name)
        sampled = outputs if self._next_inputs_fn is None else self._next_inputs_fn(outputs)
        if self._has_auxiliary:
            sampled = concat([sampled, inputs[..., self._width :]], -1)
        return finished, where(sample_ids, sampled, inputs), state
