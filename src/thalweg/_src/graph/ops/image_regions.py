"""Connected components of images, and greedy bipartite matching by distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require, with_rank
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_PIXELS = dtypes.REAL | {dtypes.bool}


def _matched(c: Inference) -> Sequence[Shape]:
    distances, count = with_rank(c, 0, 2), c.shapes[1]
    assert distances is not None
    sizes = () if count is None else count
    require(all(size in (None, 1) for size in sizes), f"num_valid_rows has shape {show(count)}", expected="one number")
    return [(distances[0],), (distances[1],)]


match_op = nondifferentiable_op(
    "_BipartiteMatch",
    "distance_mat: float32, num_valid_rows: float32 "
    "-> row_to_col_match_indices: int32, col_to_row_match_indices: int32",
    "Matches rows with columns greedily, nearest first.",
    top_k=-1,
    host="num_valid_rows",
    infer=_matched,
)


@export("contrib.image.bipartite_match")
def bipartite_match(
    distance_mat: TensorLike, num_valid_rows: TensorLike, top_k: int = -1, name: str = "bipartite_match"
) -> Any:
    """Matches rows with columns, the nearest pair first; returns the match of each row and of each column, or -1.

    A negative num_valid_rows means all rows; at most top_k matches are made if it is positive.
    """
    with name_scope(name, "bipartite_match", [distance_mat, num_valid_rows]):
        rows = cast(convert_to_tensor(num_valid_rows, name="num_valid_rows"), dtypes.float32)
        return match_op.many(distance_mat, rows, top_k=top_k)


def _components(c: Inference) -> Sequence[Shape]:
    shape = c.shapes[0]
    require(shape is None or len(shape) == 3, f"images has shape {show(shape)}", expected="a batch of planes")
    return [shape]


components_op = nondifferentiable_op(
    "_ConnectedComponents",
    "images: T -> components: int32",
    "Labels the connected components of images; zero pixels have label 0.",
    T=_PIXELS,
    infer=_components,
)


@export("contrib.image.connected_components")
def connected_components(images: TensorLike) -> Tensor:
    """Labels the 4-connected components of equal values in images; zero pixels have label 0.

    Args:
        images: Images [batch, height, width] or one [height, width].
    """
    with name_scope("connected_components"):
        images = convert_to_tensor(images, name="images")
        shape = images.dims
        if shape is None:
            raise TypeError("images rank must be statically known")
        if len(shape) not in (2, 3):
            raise TypeError(f"images should have rank 2 (HW) or 3 (NHW). Static shape is {show(shape)}")
        return components_op(images) if len(shape) == 3 else components_op(images[None])[0]
