"""Checks for NaN and infinity."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.op_def import op
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.control import group, with_dependencies
from thalweg._src.graph.ops.shape_functions import unchanged
from thalweg._src.graph.scopes import colocate_with, control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_TYPES = frozenset((dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64))

check_numerics = export(
    "check_numerics", "debugging.check_numerics", tensor="The tensor to check.", message="Text of the error."
)(
    op(
        "CheckNumerics",
        "tensor: T -> output: T",
        message=attr.string(),
        T=_TYPES,
        stateful=True,
        infer=unchanged,
        doc="Returns its input, or fails if it contains NaN or infinity.",
    )
)


@export("verify_tensor_all_finite", "debugging.assert_all_finite")
def verify_tensor_all_finite(
    t: TensorLike | None = None,
    msg: str | None = None,
    name: str | None = None,
    x: TensorLike | None = None,
    message: str | None = None,
) -> Tensor:
    """Returns the tensor after checking that all elements are finite.

    Args:
        t: The tensor to check.
        msg: Text of the error.
        x: Another name of `t`.
        message: Another name of `msg`.
    """
    x, message = x if t is None else t, message if msg is None else msg
    if x is None or message is None:
        raise ValueError("verify_tensor_all_finite requires a tensor (t or x) and a message (msg or message)")
    with name_scope(name, "VerifyFinite", [x]):
        x = convert_to_tensor(x, name="t")
        with colocate_with(x):
            return with_dependencies([check_numerics(x, message)], x)  # type: ignore[no-any-return]


assert_all_finite = verify_tensor_all_finite


@export("add_check_numerics_ops")
def add_check_numerics_ops() -> Operation:
    """Returns an operation that checks every floating tensor of the graph, each after its inputs."""
    checks: list[Operation] = []
    for operation in get_default_graph().get_operations():
        for tensor in operation.outputs:
            if tensor.dtype in _TYPES - {dtypes.bfloat16}:
                with control_dependencies(checks[-1:]):
                    checks.append(check_numerics(tensor, message=tensor.name).op)
    return group(*checks)
