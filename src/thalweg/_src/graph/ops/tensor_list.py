"""Tensor list ops: immutable lists of tensors, with push and pop, and with elements by index.

Loops save the values that their gradients need in such lists: they are ordinary values, so that higher-order
gradients need no special case. The loops of TensorFlow 2 read and write elements by index.
"""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import scalar

empty_tensor_list_op = nondifferentiable_op(
    "EmptyTensorList",
    "element_shape: shape_type, max_num_elements: int32 -> handle: variant",
    "Creates an empty list.",
    element_dtype=attr.types(),
    shape_type=dtypes.INDEX,
    host="element_shape, max_num_elements",
    infer=scalar,
)
push_back_op = op(
    "TensorListPushBack",
    "input_handle: variant, tensor: element_dtype -> output_handle: variant",
    element_dtype=attr.types(),
    infer=scalar,
    doc="Appends an element to a list.",
)


def _popped(c: Inference) -> Sequence[Shape]:
    return [(), c.shape_value(1) if c.shapes[1] != () else None]


pop_back_op = op(
    "TensorListPopBack",
    "input_handle: variant, element_shape: int32 -> output_handle: variant, tensor: element_dtype",
    element_dtype=attr.types(),
    host="element_shape",
    infer=_popped,
    doc="Removes the last element from a list; returns both.",
)
list_rows_op = nondifferentiable_op(
    "_ListRows",
    "input_handle: variant -> output: element_dtype",
    "Concatenates the matrices of a list.",
    element_dtype=attr.types(),
    width=attr.AttrDef("int"),
    infer=lambda c: [(None, c.attrs["width"])],
)


def _stacked(c: Inference) -> Sequence[Shape]:
    element = c.shape_value(1) if c.shapes[1] != () else None
    count = c.attrs["num_elements"]
    return [None if element is None else (None if count < 0 else count, *element)]


def _item(c: Inference) -> Sequence[Shape]:
    return [c.shape_value(2) if c.shapes[2] != () else None]


def _gathered(c: Inference) -> Sequence[Shape]:
    element = c.shape_value(2) if c.shapes[2] != () else None
    return [None if element is None else (c.shapes[1][0] if c.shapes[1] else None, *element)]


reserve_op = nondifferentiable_op(
    "TensorListReserve",
    "element_shape: shape_type, num_elements: int32 -> handle: variant",
    "Creates a list of a given length, whose elements are zeros until they are set.",
    element_dtype=attr.types(),
    shape_type=dtypes.INDEX,
    host="element_shape, num_elements",
    infer=scalar,
)
from_tensor_op = op(
    "TensorListFromTensor",
    "tensor: element_dtype, element_shape: shape_type -> output_handle: variant",
    element_dtype=attr.types(),
    shape_type=dtypes.INDEX,
    host="element_shape",
    infer=scalar,
    doc="Creates a list of the slices of a tensor along its first dimension.",
)
list_stack_op = op(
    "TensorListStack",
    "input_handle: variant, element_shape: int32 -> tensor: element_dtype",
    element_dtype=attr.types(),
    num_elements=-1,
    host="element_shape",
    infer=_stacked,
    doc="Stacks the elements of a list along a new first dimension.",
)
get_item_op = op(
    "TensorListGetItem",
    "input_handle: variant, index: int32, element_shape: Tshape -> item: element_dtype",
    element_dtype=attr.types(),
    Tshape=attr.types(dtypes.INDEX, dtypes.int32),
    host="index, element_shape",
    infer=_item,
    doc="Returns an element of a list.",
)
set_item_op = op(
    "TensorListSetItem",
    "input_handle: variant, index: int32, item: element_dtype -> output_handle: variant",
    element_dtype=attr.types(),
    resize_if_index_out_of_bounds=False,
    host="index",
    infer=scalar,
    doc="Returns a list with another element in one place.",
)
length_op = nondifferentiable_op(
    "TensorListLength",
    "input_handle: variant -> length: int32",
    "Returns the length of a list.",
    host="length",
    infer=scalar,
)
element_shape_op = nondifferentiable_op(
    "TensorListElementShape",
    "input_handle: variant -> element_shape: shape_type",
    "Returns the shape of a list's elements, -1 where it is unknown.",
    shape_type=dtypes.INDEX,
    host="element_shape",
)
resize_op = nondifferentiable_op(
    "TensorListResize",
    "input_handle: variant, size: int32 -> output_handle: variant",
    "Returns a list of another length: without the last elements, or with new ones that are zeros.",
    host="size",
    infer=scalar,
)
list_gather_op = op(
    "TensorListGather",
    "input_handle: variant, indices: int32, element_shape: int32 -> values: element_dtype",
    element_dtype=attr.types(),
    host="indices, element_shape",
    infer=_gathered,
    doc="Stacks some elements of a list along a new first dimension.",
)
list_scatter_op = op(
    "TensorListScatterV2",
    "tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32 -> output_handle: variant",
    element_dtype=attr.types(),
    shape_type=dtypes.INDEX,
    host="indices, element_shape, num_elements",
    infer=scalar,
    doc="Creates a list with the slices of a tensor in some places.",
)
list_concat_op = op(
    "TensorListConcatV2",
    "input_handle: variant, element_shape: shape_type, leading_dims: int64 -> tensor: element_dtype, lengths: int64",
    element_dtype=attr.types(),
    shape_type=dtypes.INDEX,
    host="element_shape, leading_dims, lengths",
    infer=lambda c: [None, (None,)],
    doc="Concatenates the elements of a list along their first dimension; returns their sizes in it, too.",
)
list_split_op = op(
    "TensorListSplit",
    "tensor: element_dtype, element_shape: shape_type, lengths: int64 -> output_handle: variant",
    element_dtype=attr.types(),
    shape_type=dtypes.INDEX,
    host="element_shape, lengths",
    infer=scalar,
    doc="Creates a list of consecutive parts of a tensor, which have the given sizes.",
)
