"""Tensor list ops: immutable lists of tensors, with push and pop.

Loops save the values that their gradients need in such lists: they are ordinary values, so that higher-order
gradients need no special case.
"""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src import dtypes
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.ops.declarations import nondifferentiable_op
from thalweg._src.ops.shape_functions import scalar
from thalweg._src.shapes import Shape

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
