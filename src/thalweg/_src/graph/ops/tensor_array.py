"""TensorArray ops: elements of one type, written and read by index; a flow value orders the operations."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base.shapes import Shape, compatible
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import no_outputs, require, scalar, vector_size

# The static shape that TensorFlow gives the handle of an array, and checks in GraphDefs with shapes.
_HANDLE = (2,)


def _handle_and_flow(c: Inference) -> Sequence[Shape]:
    return [_HANDLE, ()]


def _new_handle(c: Inference) -> Sequence[Shape]:
    require(compatible(c.shapes[0], ()), "size is not a scalar", expected="a scalar size")
    return [_HANDLE, ()]


def _indexed(c: Inference) -> Sequence[Shape]:
    require(compatible(c.shapes[1], ()), "index is not a scalar", expected="a scalar index")
    return [()]


def _read(c: Inference) -> Sequence[Shape]:
    _indexed(c)
    return [None]


def _gathered(c: Inference) -> Sequence[Shape]:
    count, element = vector_size(c, 1), c.attrs["element_shape"]
    return [None if element is None else (count, *element)]


def _scattered(c: Inference) -> Sequence[Shape]:
    count, value = vector_size(c, 1), c.shapes[2]
    require(value != (), "value is a scalar", expected="a value with one element per index")
    same_number = not value or None in (count, value[0]) or count == value[0]
    require(same_number, "indices and value differ in length", expected="indices.shape[0] == value.shape[0]")
    return [()]


def _concatenated(c: Inference) -> Sequence[Shape]:
    rest = c.attrs["element_shape_except0"]
    return [None if rest is None else (None, *rest), (None,)]


def _divided(c: Inference) -> Sequence[Shape]:
    vector_size(c, 2)
    return [()]


tensor_array_op = stateful_op(
    "TensorArrayV3",
    "size: int32 -> handle: resource, flow: float32",
    "Creates an array that lives as long as the step.",
    dtype=attr.types(),
    element_shape=attr.shape(None),
    dynamic_size=False,
    clear_after_read=True,
    identical_element_shapes=False,
    tensor_array_name="",
    host="size",
    infer=_new_handle,
)
tensor_array_grad_op = op(
    "TensorArrayGradV3",
    "handle: resource, flow_in: float32 -> grad_handle: resource, flow_out: float32",
    source=attr.string(),
    stateful=True,
    infer=_handle_and_flow,
    doc="Returns the array of gradients of another array's elements, created on first use.",
)
tensor_array_write_op = op(
    "TensorArrayWriteV3",
    "handle: resource, index: int32, value: T, flow_in: float32 -> flow_out: float32",
    T=attr.types(),
    host="index",
    numbers="index",
    stateful=True,
    infer=_indexed,
    doc="Writes one element.",
)
tensor_array_read_op = op(
    "TensorArrayReadV3",
    "handle: resource, index: int32, flow_in: float32 -> value: dtype",
    dtype=attr.types(),
    host="index",
    numbers="index",
    stateful=True,
    infer=_read,
    doc="Reads one element.",
    reads=True,
)
tensor_array_gather_op = op(
    "TensorArrayGatherV3",
    "handle: resource, indices: int32, flow_in: float32 -> value: dtype",
    dtype=attr.types(),
    element_shape=attr.shape(None),
    host="indices",
    stateful=True,
    infer=_gathered,
    doc="Gathers several elements into one tensor.",
)
tensor_array_scatter_op = op(
    "TensorArrayScatterV3",
    "handle: resource, indices: int32, value: T, flow_in: float32 -> flow_out: float32",
    T=attr.types(),
    host="indices",
    stateful=True,
    infer=_scattered,
    doc="Scatters the rows of a tensor to elements.",
    view="value",
)
tensor_array_concat_op = op(
    "TensorArrayConcatV3",
    "handle: resource, flow_in: float32 -> value: dtype, lengths: int64",
    dtype=attr.types(),
    element_shape_except0=attr.shape(None),
    host="lengths",
    stateful=True,
    infer=_concatenated,
    doc="Concatenates all elements along their first dimension.",
)
tensor_array_split_op = op(
    "TensorArraySplitV3",
    "handle: resource, value: T, lengths: int64, flow_in: float32 -> flow_out: float32",
    T=attr.types(),
    host="lengths",
    stateful=True,
    infer=_divided,
    doc="Splits a tensor along its first dimension into elements.",
)
tensor_array_size_op = stateful_op(
    "TensorArraySizeV3",
    "handle: resource, flow_in: float32 -> size: int32",
    "Returns the number of elements.",
    host="size",
    infer=scalar,
    reads=True,
)
tensor_array_close_op = stateful_op(
    "TensorArrayCloseV3", "handle: resource ->", "Releases the memory of an array.", infer=no_outputs
)
