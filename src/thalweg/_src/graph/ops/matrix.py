"""Matrix multiplication."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, broadcast
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.math import conj
from thalweg._src.graph.ops.shape_functions import at_least_rank, same_dimension, with_rank
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_TYPES = dtypes.NUMERIC - {dtypes.int8, dtypes.int16}


def _product(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> tuple[int | None, int | None]:
    """Returns rows and columns of a product, whose inner dimensions must agree."""
    rows, inner_a = (a[1], a[0]) if transpose_a else (a[0], a[1])
    inner_b, columns = (b[1], b[0]) if transpose_b else (b[0], b[1])
    fits_transposed = columns is not None and columns == inner_a
    same_dimension(
        inner_a,
        inner_b,
        "inner dimensions",
        expected=f"a.shape[{0 if transpose_a else 1}] == b.shape[{1 if transpose_b else 0}]",
        hint=f"did you mean transpose_b={not transpose_b}?" if fits_transposed else None,
        in_step="Matrix size-incompatible: In[0]: {0}, In[1]: {1}",
    )
    return rows, columns


def matmul_shape(c: Inference) -> Sequence[Shape]:
    a, b = with_rank(c, 0, 2), with_rank(c, 1, 2)
    return [_product(a, b, c.attrs["transpose_a"], c.attrs["transpose_b"])]


def _batch_matmul(c: Inference) -> Sequence[Shape]:
    a, b = at_least_rank(c, 0, 2), at_least_rank(c, 1, 2)
    if a is None or b is None:
        return [None]
    batch = broadcast(a[:-2], b[:-2])
    assert batch is not None
    return [(*batch, *_product(a[-2:], b[-2:], c.attrs["adj_x"], c.attrs["adj_y"]))]


matmul_op = op(
    "MatMul",
    "a: T, b: T -> product: T",
    transpose_a=False,
    transpose_b=False,
    T=_TYPES,
    grad_a=False,
    grad_b=False,
    infer=matmul_shape,
    doc="Multiplies two matrices.",
    traceable=True,
    fails="never",
)
batch_matmul_op = op(
    "BatchMatMulV2",
    "x: T, y: T -> output: T",
    T=dtypes.NUMERIC - {dtypes.int8},
    adj_x=False,
    adj_y=False,
    grad_x=False,
    grad_y=False,
    infer=_batch_matmul,
    doc="Multiplies batches of matrices with broadcast batch dimensions.",
    traceable=True,
    fails="never",
)


@export("matmul", "linalg.matmul")
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiplies matrices, or batches of them; the adjoint is the conjugate transpose."""
    if transpose_a and adjoint_a:
        raise ValueError("transpose_a and adjoint_a are mutually exclusive")
    if transpose_b and adjoint_b:
        raise ValueError("transpose_b and adjoint_b are mutually exclusive")
    with name_scope(name, "MatMul", [a, b]) as scope:
        a = convert_to_tensor(a, name="a") if isinstance(a, Tensor) or not isinstance(b, Tensor) else a
        is_typed = isinstance(b, Tensor) or hasattr(b, "_as_graph_element")  # the op compares the types of such values
        b = convert_to_tensor(b, dtype=a.dtype if isinstance(a, Tensor) and not is_typed else None, name="b")
        if not isinstance(a, Tensor):
            a = convert_to_tensor(a, dtype=b.dtype, name="a")
        if (a.dims is None or len(a.dims) > 2) or (b.dims is None or len(b.dims) > 2):
            a = conj(a) if transpose_a and a.dtype.is_complex else a
            b = conj(b) if transpose_b and b.dtype.is_complex else b
            return batch_matmul_op(a, b, adj_x=transpose_a or adjoint_a, adj_y=transpose_b or adjoint_b, name=scope)
        if a.dtype.is_complex and (adjoint_a or adjoint_b):
            a, b = (conj(a) if adjoint_a else a), (conj(b) if adjoint_b else b)
        return matmul_op(a, b, transpose_a or adjoint_a, transpose_b or adjoint_b, name=scope)
