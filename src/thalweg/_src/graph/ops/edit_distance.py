"""Edit distance between sequences."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require, same_dimension
from thalweg._src.graph.ops.sparse import as_sparse, count_and_rank
from thalweg._src.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg._src.graph.tensor import Tensor


def _distances(c: Inference) -> Sequence[Shape]:
    (_, a), (_, b) = count_and_rank(c, 0, 1, 2), count_and_rank(c, 3, 4, 5)
    rank = same_dimension(a, b, "ranks of hypothesis and truth", expected="sequences of equal rank")
    require(rank is None or rank >= 2, f"the sequences have rank {rank}", expected="rank at least 2")
    first, second = c.shape_value(2), c.shape_value(5)
    if first is None or second is None:
        return [None if rank is None else (None,) * (rank - 1)]
    return [tuple(None if x is None or y is None else max(x, y) for x, y in zip(first[:-1], second[:-1]))]


edit_distance_op = nondifferentiable_op(
    "EditDistance",
    "hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, "
    "truth_indices: int64, truth_values: T, truth_shape: int64 -> output: float32",
    "Computes the Levenshtein distance between sequences.",
    normalize=True,
    T=attr.types(),
    infer=_distances,
)


@export("edit_distance")
def edit_distance(
    hypothesis: SparseTensor | SparseTensorValue,
    truth: SparseTensor | SparseTensorValue,
    normalize: bool = True,
    name: str = "edit_distance",
) -> Tensor:
    """Computes the edit distance of each pair of sequences, relative to the truth's length if normalized.

    Args:
        hypothesis: Sparse tensor of sequences to compare.
        truth: Sparse tensor of the correct sequences.
        normalize: Whether distances are divided by the length of the truth.
    """
    a, b = as_sparse(hypothesis), as_sparse(truth)
    return edit_distance_op(
        a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, normalize=normalize, name=name
    )
