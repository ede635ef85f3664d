"""Session tensors: values that stay in the session, on their devices, between steps."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import scalar, scalar_value


def _by_handle(c: Inference) -> Sequence[Shape]:
    scalar_value(c, 0)
    return [None] * c.num_outputs


get_session_handle_op = stateful_op(
    "GetSessionHandle",
    "value: T -> handle: string",
    "Keeps a value in the session and returns a handle to it.",
    T=attr.types(),
    host="handle",
    infer=scalar,
)
get_session_tensor_op = stateful_op(
    "GetSessionTensor",
    "handle: string -> value: dtype",
    "Returns the value of a handle.",
    dtype=attr.types(),
    host="handle",
    infer=_by_handle,
)
delete_session_tensor_op = stateful_op(
    "DeleteSessionTensor",
    "handle: string ->",
    "Deletes the value of a handle from the session.",
    host="handle",
    infer=_by_handle,
)
