"""Fractional pooling: windows of randomly varying sizes, for pooling ratios that are not integers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, merge, show
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require, with_rank


def _require_elements(source: Shape) -> None:
    assert source is not None
    require(0 not in source, f"the input is empty: {show(source)}", expected="at least one element")


def _pool(c: Inference) -> Sequence[Shape]:
    source, ratio = with_rank(c, 0, 4), c.attrs["pooling_ratio"]
    assert source is not None
    require(len(ratio) == 4, f"pooling_ratio has {len(ratio)} entries", expected="4 entries")
    require(ratio[0] == 1 and ratio[3] == 1, f"pooling_ratio is {list(ratio)}", expected="1 for batch and channels")
    require(all(r >= 1 for r in ratio), f"pooling_ratio is {list(ratio)}", expected="ratios of at least 1")
    seeded = c.attrs["seed"] != 0 or c.attrs["seed2"] != 0
    require(c.attrs["deterministic"] or not seeded, "a seed is set", expected="none unless deterministic")
    _require_elements(source)
    sizes = [None if s is None else math.floor(s / r) for s, r in zip(source[1:3], ratio[1:3])]
    for size, length in zip(sizes, source[1:3]):
        require(size is None or size > 0, f"a dimension of {length} is too small for the ratio", expected="more")
    rows, columns = (None if size is None else size + 1 for size in sizes)
    return [(source[0], *sizes, source[3]), (rows,), (columns,)]


def pooled_shape(c: Inference, source: Shape, grad: int) -> None:
    """Checks that a gradient matches the image and the pooling sequences after it."""
    result, rows, columns = with_rank(c, grad, 4), with_rank(c, grad + 1, 1), with_rank(c, grad + 2, 1)
    assert source is not None and result is not None and rows is not None and columns is not None
    expected = (source[0], *(None if s is None else s - 1 for s in (rows[0], columns[0])), source[3])
    for size in (rows[0], columns[0]):
        require(size is None or size >= 2, f"a pooling sequence has {size} entries", expected="at least 2")
    try:
        merge(expected, result)
    except ValueError:
        require(False, f"out_backprop is {show(result)}", expected=show(expected))


def _max_pool_grad(c: Inference) -> Sequence[Shape]:
    source, pooled = with_rank(c, 0, 4), with_rank(c, 1, 4)
    _require_elements(source)
    pooled_shape(c, source, 2)
    try:
        merge(pooled, c.shapes[2])
    except ValueError:
        require(False, f"orig_output is {show(pooled)}", expected=f"out_backprop's shape {show(c.shapes[2])}")
    return [source]


def _avg_pool_grad(c: Inference) -> Sequence[Shape]:
    sizes = c.shape_value(0)
    length = with_rank(c, 0, 1)
    require(length in ((None,), (4,)), f"orig_input_tensor_shape has shape {show(length)}", expected="4 sizes")
    value = c.partial(0)
    for number in () if value is None or value.ndim != 1 else value.tolist():
        require(number is None or number >= 0, f"orig_input_tensor_shape is {value}", expected="non-negative sizes")
    source = (None,) * 4 if sizes is None else sizes
    pooled_shape(c, source, 1)
    return [source]


_TYPES = frozenset((dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64))


def _forward(name: str, doc: str) -> OpDef:
    return op(
        name,
        "value: T -> output: T, row_pooling_sequence: int64, col_pooling_sequence: int64",
        pooling_ratio=attr.AttrDef("list(float)", minimum=4),
        pseudo_random=False,
        overlapping=False,
        deterministic=False,
        seed=0,
        seed2=0,
        T=_TYPES,
        host="row_pooling_sequence, col_pooling_sequence",
        infer=_pool,
        doc=doc,
    )


_SEQUENCES = "row_pooling_sequence: int64, col_pooling_sequence: int64"
fractional_max_pool = export(
    "nn.fractional_max_pool",
    value="Images [batch, height, width, channels].",
    seed="The first seed; for `deterministic` windows.",
)(
    _forward(
        "FractionalMaxPool",
        "Computes the maxima of windows with random sizes; also returns the windows' row and column boundaries.",
    )
)
fractional_avg_pool = export(
    "nn.fractional_avg_pool",
    value="Images [batch, height, width, channels].",
    seed="The first seed; for `deterministic` windows.",
)(
    _forward(
        "FractionalAvgPool",
        "Computes the means of windows with random sizes; also returns the windows' row and column boundaries.",
    )
)
fractional_max_pool_grad = nondifferentiable_op(
    "FractionalMaxPoolGrad",
    f"orig_input: T, orig_output: T, out_backprop: T, {_SEQUENCES} -> output: T",
    overlapping=False,
    T=_TYPES,
    host="row_pooling_sequence, col_pooling_sequence",
    infer=_max_pool_grad,
    doc="Computes the gradient of fractional max pooling with respect to its input.",
)
fractional_avg_pool_grad = nondifferentiable_op(
    "FractionalAvgPoolGrad",
    f"orig_input_tensor_shape: int64, out_backprop: T, {_SEQUENCES} -> output: T",
    overlapping=False,
    T=_TYPES,
    host="orig_input_tensor_shape, row_pooling_sequence, col_pooling_sequence",
    infer=_avg_pool_grad,
    doc="Computes the gradient of fractional average pooling with respect to its input.",
)
