"""Decoders of connectionist temporal classification: the most probable label sequences."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.ctc import REAL, dimensions
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _greedy(c: Inference) -> Sequence[Shape]:
    _, batch, classes = dimensions(c, 1)
    blank = c.attrs["blank_index"]
    if classes is not None:
        inside = -classes <= blank < classes
        require(inside, f"blank_index is {blank}", expected=f"a class in [{-classes}, {classes})")
    return [(None, 2), (None,), (2,), (batch, 1)]


greedy_decoder_op = nondifferentiable_op(
    "CTCGreedyDecoder",
    "inputs: T, sequence_length: int32"
    " -> decoded_indices: int64, decoded_values: int64, decoded_shape: int64, log_probability: T",
    "Decodes the most probable class of each time step and removes blanks (greedy decoding).",
    merge_repeated=False,
    blank_index=-1,
    T=REAL,
    host="decoded_shape",
    infer=_greedy,
    capturable=False,
)


def _beam_search(c: Inference) -> Sequence[Shape]:
    _, batch, _ = dimensions(c, 1)
    paths, width = c.attrs["top_paths"], c.attrs["beam_width"]
    require(paths <= width, f"top_paths is {paths}, more than the beam width", expected=f"at most {width}")
    return [*[(None, 2)] * paths, *[(None,)] * paths, *[(2,)] * paths, (batch, paths)]


beam_search_op = nondifferentiable_op(
    "CTCBeamSearchDecoder",
    "inputs: T, sequence_length: int32 -> decoded_indices: top_paths*int64, decoded_values: top_paths*int64, "
    "decoded_shape: top_paths*int64, log_probability: T",
    "Decodes the most probable label sequences by beam search.",
    beam_width=attr.integer(1),
    top_paths=attr.integer(1),
    merge_repeated=True,
    T=REAL,
    host="sequence_length, decoded_shape",
    infer=_beam_search,
    capturable=False,
)


@export("nn.ctc_greedy_decoder")
def ctc_greedy_decoder(
    inputs: TensorLike, sequence_length: TensorLike, merge_repeated: bool = True, blank_index: int | None = None
) -> tuple[list[SparseTensor], Tensor]:
    """Decodes each time step's most probable class; returns the labels and the negative sums of their logits.

    Args:
        inputs: Logits [time, batch, classes].
        sequence_length: Number of time steps of each example.
        merge_repeated: Whether equal neighbouring labels are merged.
    """
    indices, values, shape, scores = greedy_decoder_op.many(
        inputs, sequence_length, merge_repeated=merge_repeated, blank_index=-1 if blank_index is None else blank_index
    )
    return [SparseTensor(indices, values, shape)], scores


@export("nn.ctc_beam_search_decoder")
def ctc_beam_search_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Tensor]:
    """Returns the top_paths most probable label sequences and their log probabilities, best first.

    merge_repeated merges equal neighbors in the decoded sequences, even if a blank separates them.

    Args:
        inputs: Logits [time, batch, classes].
        sequence_length: Number of time steps of each example.
        merge_repeated: Whether equal neighbouring labels of the result are merged.
    """
    indices, values, shapes, scores = beam_search_op.many(
        inputs, sequence_length, beam_width=beam_width, top_paths=top_paths, merge_repeated=merge_repeated
    )
    return [SparseTensor(*components) for components in zip(indices, values, shapes)], scores


@export("nn.ctc_beam_search_decoder_v2")
def ctc_beam_search_decoder_v2(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """Returns the top_paths most probable label sequences and their log probabilities, best first.

    Args:
        inputs: Logits [time, batch, classes].
        sequence_length: Number of time steps of each example.
    """
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)
