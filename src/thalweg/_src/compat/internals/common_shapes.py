"""`tensorflow.python.framework.common_shapes`: shape functions of operations, and broadcast shapes."""

from __future__ import annotations

from thalweg._src.base.shapes import ShapeLike, TensorShape
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.pad_tile import broadcast_static_shape


def scalar_shape(_: Operation) -> list[TensorShape]:
    """Returns the shape of an operation with one scalar output."""
    return [TensorShape([])]


def unchanged_shape(op: Operation) -> list[TensorShape]:
    """Returns the shape of an operation whose output has the shape of its first input."""
    return [op.inputs[0].get_shape()]


def no_outputs(_: Operation) -> list[TensorShape]:
    """Returns the shapes of an operation without outputs."""
    return []


def unknown_shape(op: Operation) -> list[TensorShape]:
    """Returns unknown shapes, one per output."""
    return [TensorShape(None) for _ in op.outputs]


def broadcast_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """Returns the static shape of two broadcast tensors."""
    return broadcast_static_shape(TensorShape(shape_x), TensorShape(shape_y))


def is_broadcast_compatible(shape_x: ShapeLike, shape_y: ShapeLike) -> bool:
    """Returns whether two static shapes can be broadcast to one."""
    x, y = TensorShape(shape_x), TensorShape(shape_y)
    if x.ndims is None or y.ndims is None:
        return False
    try:
        broadcast_static_shape(x, y)
    except ValueError:
        return False
    return True
