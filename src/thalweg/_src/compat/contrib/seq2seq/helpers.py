"""Helpers, which provide the inputs of a decoder: given sequences, or its own outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike, TensorShape
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, greater_equal
from thalweg._src.graph.ops.constants import fill
from thalweg._src.graph.ops.gather import gather_nd, scatter_nd
from thalweg._src.graph.ops.random import multinomial, random_uniform
from thalweg._src.graph.ops.reduction import argmax, reduce_all
from thalweg._src.graph.ops.reshape import reshape, shape, size, zeros_like
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.embedding import embedding_lookup
from thalweg._src.training.nn.rnn.sizes import swap_batch_and_time


@export("contrib.seq2seq.Helper")
class Helper:
    """The interface of helpers for `BasicDecoder`."""

    @property
    def batch_size(self) -> Any:
        """The batch size."""
        raise NotImplementedError("batch_size has not been implemented")

    @property
    def sample_ids_shape(self) -> Any:
        """The shape of one sample."""
        return TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        """The type of the samples."""
        return dtypes.int32

    def initialize(self, name: str | None = None) -> Any:
        """Returns (finished, first inputs)."""
        raise NotImplementedError("initialize has not been implemented")

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Returns the symbols sampled from outputs."""
        raise NotImplementedError("sample has not been implemented")

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        """Returns (finished, next inputs, state)."""
        raise NotImplementedError("next_inputs has not been implemented")


@export("contrib.seq2seq.CustomHelper")
class CustomHelper(Helper):
    """A helper defined by three functions.

    Args:
        initialize_fn: Function that returns (finished, first inputs).
        sample_fn: Function `(time, outputs, state)` that returns sampled symbols.
        next_inputs_fn: Function `(time, outputs, state, sample_ids)` that returns (finished, inputs, state).
        sample_ids_shape: Shape of a sample without the batch.
        sample_ids_dtype: Element type of a sample.
    """

    sample_ids_shape = ReadOnly[Any]("The shape of one sample.", "_shape")
    sample_ids_dtype = ReadOnly[Any]("The type of the samples.", "_dtype")

    def __init__(
        self,
        initialize_fn: Callable[[], Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: ShapeLike = None,
        sample_ids_dtype: DTypeLike | None = None,
    ) -> None:
        self._initialize_fn = initialize_fn
        self._sample_fn = sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size: Any = None
        self._shape = TensorShape(sample_ids_shape or [])
        self._dtype = sample_ids_dtype or dtypes.int32

    @property
    def batch_size(self) -> Any:
        """The batch size."""
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    def initialize(self, name: str | None = None) -> Any:
        """Calls `initialize_fn`."""
        finished, inputs = self._initialize_fn()
        if self._batch_size is None:
            self._batch_size = size(finished)
        return finished, inputs

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Calls `sample_fn`."""
        return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        """Calls `next_inputs_fn`."""
        return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


@export("contrib.seq2seq.TrainingHelper")
class TrainingHelper(Helper):
    """Feeds given sequences, independent of the outputs."""

    inputs = ReadOnly[Any]("The given sequences.")
    sequence_length = ReadOnly[Any]("The lengths of the sequences.", "_lengths")
    batch_size = ReadOnly[Any]("The batch size.")

    def __init__(
        self, inputs: Any, sequence_length: TensorLike, time_major: bool = False, name: str | None = None
    ) -> None:
        with name_scope(name, "TrainingHelper", nest.flatten(inputs)):
            inputs = nest.map_structure(convert_to_tensor, inputs)
            self._inputs = inputs
            if not time_major:
                inputs = nest.map_structure(swap_batch_and_time, inputs)
            self._arrays = nest.map_structure(_unstacked, inputs)
            self._zeros = nest.map_structure(lambda whole: zeros_like(whole[0]), inputs)
            self._lengths = cast(convert_to_tensor(sequence_length), dtypes.int32)
            if self._lengths.dims is not None and len(self._lengths.dims) != 1:
                raise ValueError(f"sequence_length: expected a vector, received shape {self._lengths.shape}")
            static_batch = self._lengths.dims[0] if self._lengths.dims else None
            self._batch_size: Any = static_batch if static_batch is not None else size(self._lengths)

    def _at(self, time: Any, finished: Any) -> Any:
        """Returns the inputs of a step; zeros when all sequences have ended."""
        inputs = cond(
            reduce_all(finished),
            lambda: self._zeros,
            lambda: nest.map_structure(lambda array: array.read(time), self._arrays),
        )
        for tensor, zero in zip(nest.flatten(inputs), nest.flatten(self._zeros)):
            tensor.set_shape(zero.dims)
        return inputs

    def initialize(self, name: str | None = None) -> Any:
        """Returns the inputs of the first step."""
        with name_scope(name, "TrainingHelperInitialize"):
            finished = equal(0, self._lengths)
            return finished, self._at(0, finished)

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Returns the most likely symbols."""
        with name_scope(name, "TrainingHelperSample", [time, outputs]):
            return cast(argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        """Returns the inputs of the next step."""
        with name_scope(name, "TrainingHelperNextInputs", [time, outputs]):
            following = time + 1
            finished = greater_equal(following, self._lengths)
            return finished, self._at(following, finished), state


def _unstacked(whole: Tensor) -> TensorArray:
    rest = whole.dims[1:] if whole.dims else None
    return TensorArray(whole.dtype, size=shape(whole)[0], element_shape=rest).unstack(whole)


def _embedding(embedding: Any) -> Callable[[Any], Any]:
    return embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)


@export("contrib.seq2seq.ScheduledEmbeddingTrainingHelper")
class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Feeds given sequences, replaced at random by the embeddings of sampled symbols."""

    def __init__(
        self,
        inputs: Any,
        sequence_length: TensorLike,
        embedding: TensorLike | Callable[..., Any],
        sampling_probability: TensorLike,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(inputs, sequence_length, time_major, name)
        self._embedding_fn = _embedding(embedding)
        self._probability = convert_to_tensor(sampling_probability, dtypes.float32, name="sampling_probability")
        self._seed = seed
        self._scheduling_seed = scheduling_seed

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Returns symbols sampled from the logits at randomly selected positions, and -1 elsewhere."""
        chosen = random_uniform([self.batch_size], seed=self._scheduling_seed) < self._probability
        drawn = _drawn(outputs, self._seed)
        return where(chosen, drawn, fill([self.batch_size], -1))

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        """Returns the next given inputs, replaced by embeddings where symbols were sampled."""
        finished, inputs, state = super().next_inputs(time, outputs, state, sample_ids, name)

        def mixed() -> Tensor:
            places = where(greater_equal(sample_ids, 0))
            vectors = self._embedding_fn(gather_nd(sample_ids, places))
            teacher = where(sample_ids < 0, inputs, zeros_like(inputs))
            return teacher + scatter_nd(places, vectors, shape(inputs, out_type=dtypes.int64))

        chosen = cond(reduce_all(finished), lambda: inputs + 0, mixed)
        chosen.set_shape(inputs.dims)
        return finished, chosen, state


def _drawn(logits: Any, seed: int | None) -> Tensor:
    """Returns symbols sampled from the logits."""
    return cast(reshape(multinomial(logits, 1, seed=seed), [-1]), dtypes.int32)  # type: ignore[no-any-return]


@export("contrib.seq2seq.GreedyEmbeddingHelper")
class GreedyEmbeddingHelper(Helper):
    """Feeds back the most likely symbol, until the end token."""

    batch_size = ReadOnly[Any]("The batch size.")

    def __init__(
        self, embedding: TensorLike | Callable[..., Any], start_tokens: TensorLike, end_token: TensorLike
    ) -> None:
        self._embedding_fn = _embedding(embedding)
        self._start_tokens = convert_to_tensor(start_tokens, dtypes.int32, name="start_tokens")
        self._end_token = convert_to_tensor(end_token, dtypes.int32, name="end_token")
        if self._start_tokens.dims is not None and len(self._start_tokens.dims) != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end_token.dims not in (None, ()):
            raise ValueError("end_token must be a scalar")
        static_batch = self._start_tokens.dims[0] if self._start_tokens.dims else None
        self._batch_size: Any = static_batch if static_batch is not None else size(self._start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def initialize(self, name: str | None = None) -> Any:
        """Returns the embeddings of the start tokens."""
        return fill([self._batch_size], False), self._start_inputs

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Returns the most likely symbols."""
        if not isinstance(outputs, Tensor):
            raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
        return cast(argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        """Returns the embeddings of the symbols."""
        finished = equal(sample_ids, self._end_token)
        inputs = cond(reduce_all(finished), lambda: self._start_inputs, lambda: self._embedding_fn(sample_ids))
        inputs.set_shape(self._start_inputs.dims)
        return finished, inputs, state


@export("contrib.seq2seq.SampleEmbeddingHelper")
class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Feeds back a symbol sampled from the logits, until the end token."""

    def __init__(
        self,
        embedding: TensorLike | Callable[..., Any],
        start_tokens: TensorLike,
        end_token: TensorLike,
        softmax_temperature: TensorLike | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature = softmax_temperature
        self._seed = seed

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Returns symbols sampled from the logits."""
        logits = outputs if self._softmax_temperature is None else outputs / self._softmax_temperature
        return _drawn(logits, self._seed)


@export("contrib.seq2seq.InferenceHelper")
class InferenceHelper(Helper):
    """Feeds back what a function samples from the outputs.

    Args:
        sample_fn: Function that samples symbols from outputs.
        sample_shape: Shape of a sample without the batch.
        sample_dtype: Element type of a sample.
        start_inputs: The first inputs.
        end_fn: Function from samples to whether each sequence has ended.
        next_inputs_fn: Function from samples to inputs; by default the samples.
    """

    batch_size = ReadOnly[Any]("The batch size.")
    sample_ids_shape = ReadOnly[Any]("The shape of one sample.", "_shape")
    sample_ids_dtype = ReadOnly[Any]("The type of the samples.", "_dtype")

    def __init__(
        self,
        sample_fn: Callable[[Any], Any],
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable[[Any], Any],
        next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self._sample_fn = sample_fn
        self._end_fn = end_fn
        self._shape = TensorShape(sample_shape)
        self._dtype = sample_dtype
        self._next_inputs_fn = next_inputs_fn
        self._start_inputs = convert_to_tensor(start_inputs, name="start_inputs")
        self._batch_size = shape(self._start_inputs)[0]

    def initialize(self, name: str | None = None) -> Any:
        """Returns the first inputs."""
        return fill([self._batch_size], False), self._start_inputs

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Samples from the outputs."""
        return self._sample_fn(outputs)

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        """Returns the inputs made from the samples."""
        following = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), following, state
