"""Image warping by a flow, dense or interpolated from control points by polyharmonic splines."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.diagonal import eye
from thalweg._src.graph.ops.gather import gather_nd
from thalweg._src.graph.ops.linalg import matrix_solve
from thalweg._src.graph.ops.math import floor, log, maximum, minimum, pow, sqrt, square
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.pad_tile import meshgrid, tile
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, reshape, shape as shape_of, transpose, zeros
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_EPSILON = 1e-10  # keeps roots and logs of squared distances finite


@export("contrib.image.dense_image_warp")
def dense_image_warp(image: TensorLike, flow: TensorLike, name: str = "dense_image_warp") -> Tensor:
    """Warps images: each output pixel is sampled bilinearly at its position minus the flow.

    Args:
        image: Images [batch, height, width, channels].
        flow: Displacements [batch, height, width, (row, column)].
    """
    with name_scope(name, "dense_image_warp", [image, flow]):
        image, flow = convert_to_tensor(image, name="image"), convert_to_tensor(flow, name="flow")
        batch, height, width, channels = _sizes(image)
        columns, rows = meshgrid(range_of(width), range_of(height))
        places = cast(stack([rows, columns], 2), flow.dtype)
        queries = reshape(expand_dims(places, 0) - flow, [batch, height * width, 2])
        return reshape(interpolate_bilinear(image, queries), [batch, height, width, channels])


def _sizes(image: Tensor) -> list[Any]:
    """Returns the four sizes of a batch of images, integers where they are known statically."""
    static = image.get_shape().with_rank(4).as_list()
    if None not in static:
        return static
    dynamic = shape_of(image)
    return [dynamic[i] if size is None else size for i, size in enumerate(static)]


def interpolate_bilinear(
    grid: Any, query_points: Any, name: str = "interpolate_bilinear", indexing: str = "ij"
) -> Tensor:
    """Interpolates a grid [batch, height, width, channels] bilinearly at points [batch, count, 2]."""
    if indexing not in ("ij", "xy"):
        raise ValueError("Indexing mode must be 'ij' or 'xy'")
    with name_scope(name, "interpolate_bilinear", [grid, query_points]):
        grid, points = convert_to_tensor(grid), convert_to_tensor(query_points)
        points.get_shape().with_rank(3)[2].assert_is_compatible_with(2)
        batch, height, width, _ = _sizes(grid)
        for size in (height, width):
            if isinstance(size, int) and size < 2:
                raise ValueError("Grid must be at least batch_size x 2 x 2 in size.")
        axes = (0, 1) if indexing == "ij" else (1, 0)
        top, down = _floor_and_rest(points[:, :, axes[0]], height, grid.dtype)
        left, right = _floor_and_rest(points[:, :, axes[1]], width, grid.dtype)
        image = tile(expand_dims(range_of(batch), 1), stack([1, shape_of(points)[1]]))

        def at(y: Any, x: Any) -> Tensor:
            return gather_nd(grid, stack([image, y, x], 2))

        above = right * (at(top, left + 1) - at(top, left)) + at(top, left)
        below = right * (at(top + 1, left + 1) - at(top + 1, left)) + at(top + 1, left)
        return down * (below - above) + above


def _floor_and_rest(points: Tensor, size: Any, dtype: Any) -> tuple[Tensor, Tensor]:
    """Returns the grid index below each coordinate, inside the grid, and the fraction beyond it, in [0, 1]."""
    last = cast(size - 2, points.dtype)
    floors = minimum(maximum(floor(points), cast(0.0, points.dtype)), last)
    rest = cast(points - floors, dtype)
    bounded = minimum(maximum(rest, cast(0.0, dtype)), cast(1.0, dtype))
    return cast(floors, dtypes.int32), expand_dims(bounded, 2)


# -- splines ----------------------------------------------------------------------------------------------------------


@export("contrib.image.interpolate_spline")
def interpolate_spline(
    train_points: TensorLike,
    train_values: TensorLike,
    query_points: TensorLike,
    order: Any,
    regularization_weight: TensorLike = 0.0,
    name: str = "interpolate_spline",
) -> Tensor:
    """Returns the polyharmonic spline through values at train points, evaluated at query points.

    Points are [batch, count, dimensions], values [batch, count, outputs].
    """
    with name_scope(name, "interpolate_spline", [train_points, train_values, query_points]):
        points, values = convert_to_tensor(train_points), convert_to_tensor(train_values)
        asked = convert_to_tensor(query_points)
        around, linear = _spline_weights(points, values, order, regularization_weight)
        near = _kernel(_squared_distances(asked, points), order)
        return matmul(near, around) + matmul(_with_ones(asked), linear)


def _with_ones(points: Tensor) -> Tensor:
    return concat([points, ones_like(points[:, :, :1])], 2)


def _spline_weights(points: Tensor, values: Tensor, order: Any, weight: Any) -> tuple[Tensor, Tensor]:
    """Returns the weights of the radial functions and of the linear part."""
    points.shape.assert_has_rank(3)
    values.shape.assert_has_rank(3)
    count, dimensions = points.shape[1].value, points.shape[2].value
    outputs = values.shape[2].value
    if count is None or dimensions is None or outputs is None:
        raise ValueError("the number of train points, their dimensions and the number of values must be known")
    batch = points.shape[0].value or shape_of(points)[0]
    corner = _kernel(_squared_distances(points, points), order)
    if not isinstance(weight, int | float) or weight > 0:
        corner = corner + weight * eye(count, dtype=points.dtype)
    sides = _with_ones(points)
    # A small value rather than zero, so that collinear points have a solution.
    rest = _EPSILON * eye(dimensions + 1, batch_shape=[batch], dtype=points.dtype)
    left = concat([corner, transpose(sides, [0, 2, 1])], 1)
    matrix = concat([left, concat([sides, rest], 1)], 2)
    right = concat([values, zeros([batch, dimensions + 1, outputs], values.dtype)], 1)
    solution = matrix_solve(matrix, right)
    return solution[:, :count], solution[:, count:]


def _squared_distances(x: Tensor, y: Tensor) -> Tensor:
    """Returns |x|^2 + |y|^2 - 2 x y of all pairs of points."""
    x_norm, y_norm = reduce_sum(square(x), 2), reduce_sum(square(y), 2)
    return expand_dims(x_norm, 2) - 2 * matmul(x, y, adjoint_b=True) + expand_dims(y_norm, 1)


def _kernel(r: Tensor, order: Any) -> Tensor:
    """Returns the radial basis function of an order, of squared distances."""
    with name_scope("phi"):
        positive = maximum(r, cast(_EPSILON, r.dtype))
        if order == 1:
            return sqrt(positive)
        if order % 2:
            return pow(positive, 0.5 * order)
        power = r if order == 2 else square(r) if order == 4 else pow(positive, 0.5 * order)
        return 0.5 * power * log(positive)


@export("contrib.image.sparse_image_warp")
def sparse_image_warp(
    image: Any,
    source_control_point_locations: TensorLike,
    dest_control_point_locations: TensorLike,
    interpolation_order: int = 2,
    regularization_weight: TensorLike = 0.0,
    num_boundary_points: int = 0,
    name: str = "sparse_image_warp",
) -> tuple[Tensor, Tensor]:
    """Warps images so that control points [batch, count, (row, column)] move to new positions.

    Returns the images and the flow. `num_boundary_points` fixes the corners (1) and further points of each edge.

    Args:
        image: Images [batch, height, width, channels].
        source_control_point_locations: Points [batch, count, (row, column)] of the images.
        dest_control_point_locations: Where these points go.
        interpolation_order: Order of the spline.
        num_boundary_points: Number of fixed points of each edge; 0 fixes none, 1 the corners.
    """
    with name_scope(name, "sparse_image_warp", [image, source_control_point_locations]):
        image = convert_to_tensor(image)
        batch, height, width, _ = image.get_shape().with_rank(4).as_list()
        if None in (batch, height, width):
            raise ValueError(f"image has shape {image.get_shape()}: batch, height and width must be known")
        source = convert_to_tensor(source_control_point_locations)
        moved = convert_to_tensor(dest_control_point_locations)
        if num_boundary_points > 0:
            edge = np.tile(_edge(height, width, num_boundary_points - 1), [batch, 1, 1])
            source, moved = (concat([points, cast(edge, points.dtype)], 1) for points in (source, moved))
        rows, columns = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
        grid = np.stack([rows, columns], -1).reshape(1, height * width, 2)
        places = cast(np.tile(grid, [batch, 1, 1]), moved.dtype)
        flow = interpolate_spline(moved, moved - source, places, interpolation_order, regularization_weight)
        flow = reshape(flow, [batch, height, width, 2])
        return dense_image_warp(image, flow), flow


def _edge(height: int, width: int, points: int) -> Any:
    """Returns the corners of an image and evenly spaced points of its edges."""
    rows, columns = np.linspace(0, height - 1, points + 2), np.linspace(0, width - 1, points + 2)
    y, x = np.meshgrid(rows, columns, indexing="ij")
    outer = (x == 0) | (x == width - 1) | (y == 0) | (y == height - 1)
    return np.stack([y[outer], x[outer]], -1)
