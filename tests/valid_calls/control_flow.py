"""Valid calls of the primitives of control flow, of tensor lists and of tensor arrays."""

from __future__ import annotations

from tests.valid_calls.values import Call, X, ints

VALID: dict[str, Call] = {
    "EmptyTensorList": ((ints(2, 3), ints(-1)), {"element_dtype": "float32"}),
    "FakeParam": ((), {"dtype": "float32", "shape": (2, 3)}),
    "Merge": (([X, X],), {}),
    "StackV2": ((ints(-1),), {"elem_type": "float32"}),
    "TensorArrayV3": ((ints(3),), {"dtype": "float32"}),
}
