"""Resource variables: ops that read and write variables by handle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.errors import ShapeError
from thalweg._src.base.shapes import Shape, compact, compatible, merge, show
from thalweg._src.graph import attr
from thalweg._src.graph.attr import AttrDef
from thalweg._src.graph.function_graph import FunctionGraph
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import require, scalar, vector_size
from thalweg._src.graph.ops.slicing import UNKNOWN, items_of, sliced_shape
from thalweg._src.graph.tensor import Tensor

_ARITHMETIC = dtypes.NUMERIC | dtypes.QUANTIZED


def handle_of(tensor: Tensor) -> Operation | None:
    """Returns the VarHandleOp that a handle comes from, through ops that forward it and functions that capture it."""
    while tensor.op.type != "VarHandleOp":
        operation = tensor.op
        if isinstance(operation.graph, FunctionGraph) and tensor in operation.graph.origins:
            tensor = operation.graph.origins[tensor]
            continue
        passed = [t for t in operation.inputs if t.dtype is dtypes.resource]
        if not passed or passed[0].op.id >= operation.id:
            return None
        tensor = passed[0]
    return tensor.op


def is_variable(c: Inference, index: int) -> bool:
    """Returns whether an input is the handle of a variable or a reference to one."""
    dtype = c.sources[index].dtype
    return dtype is dtypes.resource or dtype._is_ref_dtype


def handle_shape(c: Inference, index: int = 0) -> Shape:
    """Returns the shape of the variable of a handle; at run time the executor passes the variable itself.

    The variable's type must be the one that the operation reads or writes.
    """
    source = c.sources[index]
    if not isinstance(source, Tensor) or source.dtype._is_ref_dtype:
        return c.shapes[index]
    operation = handle_of(source)
    if operation is None:
        return None
    stored, asked = operation.attrs["dtype"], c.attrs.get("dtype") or c.attrs.get("T")
    require(asked in (stored, None), f"the variable has type {stored.name}, but is used as {asked and asked.name}")
    return operation.attrs["shape"]  # type: ignore[no-any-return]


def _read(c: Inference) -> Sequence[Shape]:
    return [handle_shape(c)]


def _assign(c: Inference) -> Sequence[Shape]:
    """The value must match the variable's shape."""
    shape, value = handle_shape(c), c.shapes[1]
    try:
        merge(shape, value)
    except ShapeError as error:
        sides = f"lhs shape= {compact(shape)} rhs shape= {compact(value)}"
        in_step = f"Assign requires shapes of both tensors to match. {sides}"
        raise ShapeError(error.what, f"a value of shape {show(shape)}", in_step=in_step) from None
    return []


def _shape_value(c: Inference) -> Any:
    shape = handle_shape(c)
    return None if shape is None else np.array(shape, dtype=object)


def _shape_vector(c: Inference) -> Sequence[Shape]:
    shape = handle_shape(c)
    return [(None if shape is None else len(shape),)]


def _count(c: Inference) -> Sequence[Shape]:
    shape = handle_shape(c)
    require(shape in ((), None), f"the variable has shape {show(shape)}", expected="a scalar")
    return [()]


def _gather(c: Inference) -> Sequence[Shape]:
    params, indices, batch_dims = handle_shape(c), c.shapes[1], c.attrs["batch_dims"]
    if params is None or indices is None:
        return [None]
    require(len(params) > batch_dims, f"the variable has rank {len(params)}", f"rank at least {batch_dims + 1}")
    require(0 <= batch_dims <= len(indices), f"batch_dims {batch_dims} is out of range for indices {show(indices)}")
    batch = merge(params[:batch_dims], indices[:batch_dims])
    assert batch is not None
    return [batch + indices[batch_dims:] + params[batch_dims + 1 :]]


def _gather_nd(c: Inference) -> Sequence[Shape]:
    params, indices = handle_shape(c), c.shapes[1]
    depth = _index_depth(params, indices)
    if params is None or indices is None or depth is None:
        return [None]
    return [indices[:-1] + params[depth:]]


def _index_depth(params: Shape, indices: Shape) -> int | None:
    """Returns the number of leading dimensions that the last dimension of the indices addresses."""
    if indices is None:
        return None
    require(len(indices) >= 1, "indices is a scalar", expected="indices of rank at least 1")
    depth = indices[-1]
    if depth is not None and params is not None:
        require(
            depth <= len(params),
            f"indices address {depth} dimensions of a variable of rank {len(params)}",
            expected=f"indices.shape[-1] <= {len(params)}",
        )
    return depth


def scatter_shapes(params: Shape, indices: Shape, updates: Shape) -> None:
    """Requires one row of updates per index, or one scalar for all."""
    if params is None or indices is None or updates == ():
        return
    require(len(params) >= 1, "the variable is a scalar", expected="a variable of rank at least 1")
    expected = indices + params[1:]
    require(
        compatible(updates, expected),
        f"updates of shape {show(updates)} do not match indices {show(indices)} and variable {show(params)}",
        expected=f"updates of shape {show(expected)}, or a scalar",
    )


def scatter_nd_shapes(params: Shape, indices: Shape, updates: Shape) -> None:
    depth = _index_depth(params, indices)
    if params is None or indices is None or depth is None:
        return
    expected = indices[:-1] + params[depth:]
    if 0 in params:
        require(0 in indices, f"the variable {show(params)} has no elements", expected="no indices")
    require(
        compatible(updates, expected),
        f"updates of shape {show(updates)} do not match indices {show(indices)} and variable {show(params)}",
        expected=f"updates of shape {show(expected)}",
    )


def _scatter(c: Inference) -> Sequence[Shape]:
    scatter_shapes(handle_shape(c), c.shapes[1], c.shapes[2])
    return []


def _scatter_nd(c: Inference) -> Sequence[Shape]:
    scatter_nd_shapes(handle_shape(c), c.shapes[1], c.shapes[2])
    return []


def _strided_slice_assign(c: Inference) -> Sequence[Shape]:
    for index in (1, 2, 3):
        vector_size(c, index)
    shape, bounds = handle_shape(c), [c.partial(i) for i in (1, 2, 3)]
    static = [[UNKNOWN if e is None else e for e in bound.tolist()] for bound in bounds if bound is not None]
    if shape is not None and len(static) == 3:
        expected = sliced_shape(shape, items_of(c.attrs, static[0], static[1], static[2], len(shape)))
        require(
            compatible(c.shapes[4], expected),
            f"cannot assign a value of shape {show(c.shapes[4])} to a slice of shape {show(expected)}",
            expected=f"a value of shape {show(expected)}",
        )
    return []


var_handle_op = stateful_op(
    "VarHandleOp",
    "-> resource: resource",
    "Creates the handle of a variable.",
    container="",
    shared_name="",
    debug_name="",
    dtype=attr.types(),
    shape=attr.shape(),
    allowed_devices=AttrDef("list(string)", ()),
    infer=scalar,
    capturable=True,
    instant=True,
)
read_variable_op = op(
    "ReadVariableOp",
    "resource: resource -> value: dtype",
    dtype=attr.types(),
    stateful=True,
    infer=_read,
    doc="Reads the current value of a variable; later writes do not change the result.",
    forwards="same",
    reads=True,
    traceable=True,
    capturable=True,
)
assign_variable_op = stateful_op(
    "AssignVariableOp",
    "resource: resource, value: dtype ->",
    "Assigns a new value to a variable.",
    dtype=attr.types(),
    validate_shape=False,
    infer=_assign,
    traceable=True,
    writes=True,
    capturable=True,
)
assign_add_variable_op = stateful_op(
    "AssignAddVariableOp",
    "resource: resource, value: dtype ->",
    "Adds a value of the same shape to a variable.",
    dtype=attr.types(),
    infer=_assign,
    traceable=True,
    writes=True,
    capturable=True,
)
assign_sub_variable_op = stateful_op(
    "AssignSubVariableOp",
    "resource: resource, value: dtype ->",
    "Subtracts a value of the same shape from a variable.",
    dtype=attr.types(),
    infer=_assign,
    traceable=True,
    writes=True,
    capturable=True,
)
var_is_initialized_op = stateful_op(
    "VarIsInitializedOp",
    "resource: resource -> is_initialized: bool",
    "Returns whether a variable has a value.",
    host="is_initialized",
    infer=scalar,
)
destroy_resource_op = stateful_op(
    "DestroyResourceOp",
    "resource: resource ->",
    "Releases the buffer of a variable, which is uninitialized afterwards.",
    ignore_lookup_error=True,
    infer=lambda c: [],
)
variable_shape = stateful_op(
    "VariableShape",
    "input: resource -> output: out_type",
    "Returns the shape of a variable's value.",
    out_type=attr.types(dtypes.INDEX, dtypes.int32),
    host="output",
    infer=_shape_vector,
    evaluate=_shape_value,
    reads=True,
    capturable=True,
    shape_only=True,
)
resource_count_up_to = stateful_op(
    "ResourceCountUpTo",
    "resource: resource -> output: T",
    "Increments a scalar variable up to a limit; returns the previous value.",
    limit=attr.integer(),
    T=attr.types(dtypes.INDEX),
    writes=True,
    infer=_count,
)
resource_gather = op(
    "ResourceGather",
    "resource: resource, indices: Tindices -> output: dtype",
    batch_dims=attr.integer(0, 0),
    validate_indices=True,
    dtype=attr.types(),
    Tindices=dtypes.INDEX,
    stateful=True,
    infer=_gather,
    doc="Gathers rows of a variable without reading all of it.",
    reads=True,
    capturable=True,
)
resource_gather_nd = op(
    "ResourceGatherNd",
    "resource: resource, indices: Tindices -> output: dtype",
    dtype=attr.types(),
    Tindices=dtypes.INDEX,
    stateful=True,
    infer=_gather_nd,
    doc="Gathers elements or slices of a variable by index vectors.",
    reads=True,
    capturable=False,
)


def _scatter_op(verb: str, types: Any, doc: str, capturable: bool = False) -> OpDef:
    return stateful_op(
        f"ResourceScatter{verb}",
        "resource: resource, indices: Tindices, updates: dtype ->",
        doc,
        dtype=types,
        Tindices=dtypes.INDEX,
        writes=True,
        capturable=capturable,
        infer=_scatter,
    )


def _scatter_nd_op(verb: str, doc: str) -> OpDef:
    return stateful_op(
        f"ResourceScatterNd{verb}",
        "ref: resource, indices: Tindices, updates: T ->",
        doc,
        T=attr.types(),
        Tindices=dtypes.INDEX,
        use_locking=True,
        bad_indices_policy="",
        writes=True,
        infer=_scatter_nd,
    )


resource_scatter_update = _scatter_op("Update", attr.types(), "Replaces rows of a variable.")
resource_scatter_add = _scatter_op(
    "Add", _ARITHMETIC, "Adds to rows of a variable; duplicate indices accumulate.", capturable=True
)
resource_scatter_sub = _scatter_op(
    "Sub", _ARITHMETIC, "Subtracts from rows of a variable; duplicate indices accumulate.", capturable=True
)
resource_scatter_mul = _scatter_op("Mul", _ARITHMETIC, "Multiplies rows of a variable.")
resource_scatter_div = _scatter_op("Div", _ARITHMETIC, "Divides rows of a variable.")
resource_scatter_min = _scatter_op(
    "Min", _ARITHMETIC, "Replaces rows of a variable by the minimum of them and the updates."
)
resource_scatter_max = _scatter_op(
    "Max", _ARITHMETIC, "Replaces rows of a variable by the maximum of them and the updates."
)
resource_scatter_nd_update = _scatter_nd_op("Update", "Replaces elements or slices of a variable.")
resource_scatter_nd_add = _scatter_nd_op("Add", "Adds to elements or slices of a variable.")
resource_scatter_nd_sub = _scatter_nd_op("Sub", "Subtracts from elements or slices of a variable.")
resource_strided_slice_assign = stateful_op(
    "ResourceStridedSliceAssign",
    "ref: resource, begin: Index, end: Index, strides: Index, value: T ->",
    "Assigns to a slice of a variable.",
    T=attr.types(),
    Index=dtypes.INDEX,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
    writes=True,
    host="begin, end, strides",
    infer=_strided_slice_assign,
)
