"""Small operations as statements, which all peers repeat in the same loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Step = Callable[[], float]
X = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
Y = np.array([1.0, 1.0, 1.0, 1.0], np.float32)
M = X.reshape(2, 2)


@dataclass(frozen=True, slots=True)
class Case:
    """A call of `f` on tensors of four floats; what `f` is in TensorFlow's and in torch's names.

    x, y: vectors, m: a matrix, d: float64
    """

    title: str
    statement: str
    tensorflow: str = ""
    torch: str = ""


CASES = {
    "op_add": Case("add of 4 floats", "f(x, y)", "add", "add"),
    "op_mul": Case("multiply of 4 floats", "f(x, y)", "multiply", "mul"),
    "op_operator": Case("x + y", "x + y"),
    "op_number": Case("x + 1.0", "x + 1.0"),
    "op_matmul": Case("matmul, 2x2", "f(m, m)", "matmul", "matmul"),
    "op_sum": Case("reduce_sum(m, 1)", "f(m, 1)", "reduce_sum", "sum"),
    "op_reshape": Case("reshape(x, [2, 2])", "f(x, [2, 2])", "reshape", "reshape"),
    "op_index": Case("x[0]", "x[0]"),
    "op_cast": Case("cast(x, float64)", "f(x, d)", "cast", "Tensor.to"),
    "op_concat": Case("concat([x, y], 0)", "f([x, y], 0)", "concat", "cat"),
}
# Each operation takes the result of the one before, so that all of them are kept for the gradient.
TAPED = {
    "tape_add": Case("add, recorded by a tape", "f(x, y)", "add", "add"),
    "tape_mul": Case("multiply, recorded by a tape", "f(x, y)", "multiply", "mul"),
    "tape_operator": Case("x + y, recorded by a tape", "x + y"),
}


def repeat(statement: str, names: dict[str, Any], times: int, result: str = "_") -> Callable[..., Any]:
    """Returns a function of x that executes a statement many times, without a call around it, and returns a result."""
    text = f"def step(x):\n for _ in repeat(None, times):\n  {result} = {statement}\n return {result}\n"
    scope = {**names, "repeat": itertools.repeat, "times": times}
    exec(text, scope)
    step: Callable[..., Any] = scope["step"]
    return step
