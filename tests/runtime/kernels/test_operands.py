"""Every kernel gives the numbers of dense operands for views: slices, transposed tensors, and repeated values.

Some code that torch calls reads memory from the first element on, whatever the strides are: without an error, and
beyond the memory of an expanded tensor. See tests/operands.py.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests import children
from tests.operands import LAYOUTS, Trial
from tests.sandbox import Case, Sandbox, Variable
from tests.strategies import convert, valid
from tests.test_bad_input import NAMES, NEVER_RUNS
from tests.valid_calls.values import FUSED, floats, held
from thalweg._src.base import dtypes
from thalweg._src.graph.op_def import OPS

RUN = [name for name in NAMES if name not in NEVER_RUNS]
LARGER = 4  # times as many elements along each dimension, for native code that computes with whole registers
_SIZES = ("input_sizes", "filter_sizes", "orig_input_shape")  # they are shapes of others

# Calls that use native code of its own for their sizes.
LARGE = [
    Case("_FusedMatMul", (floats(8, 600), floats(600, 32), [floats(32)]), FUSED),
    Case("_FusedMatMul", (floats(8, 600), floats(32, 600), [floats(32)]), {**FUSED, "transpose_b": True}),
    Case("MatMul", (floats(64, 8), floats(256, 8)), {"transpose_b": True}),
    Case("MatMul", (floats(64, 256), floats(64, 8)), {"transpose_a": True}),
    Case("_FusedConv2D", (floats(2, 9, 11, 16), floats(3, 3, 16, 24), [floats(24)], []), valid("_FusedConv2D").attrs),
    Case("Conv2D", (floats(2, 9, 11, 16), floats(3, 3, 16, 24)), {"strides": [1] * 4, "padding": "SAME"}),
    *(
        Case(
            "FusedBatchNormGradV3",
            (floats(*shape), floats(*shape), floats(32), floats(32), floats(32), floats(0)),
            {"is_training": training, "data_format": layout},
        )
        for layout, shape in (("NHWC", (2, 5, 7, 32)), ("NCHW", (2, 32, 5, 7)))
        for training in (True, False)
    ),
]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with contextlib.closing(Sandbox(examiner="tests.operands")) as box:
        yield box


def problems(sandbox: Sandbox, trial: Trial) -> list[str]:
    """Returns what went wrong; of a crash, the layouts that cause it."""
    report = sandbox.run(trial)
    if any("kills the process" in problem for problem in report.problems):
        single = {name: sandbox.run(replace(trial, layouts=(name,))) for name in trial.layouts}
        return [f"{name}: {problem}" for name, report in single.items() for problem in report.problems]
    return list(report.problems)


def test_every_kernel_looks_at_strides(sandbox: Sandbox) -> None:
    layouts = ("transposed", "every second", "one value")
    reports = {case.op: sandbox.run(Trial(case, layouts, one_by_one=layouts[-1:])) for case in map(valid, RUN)}
    assert not [problem for report in reports.values() for problem in report.problems]
    # Its call leaves no variable to read.
    assert [name for name, report in reports.items() if not report.succeeded] == ["DestroyResourceOp"]


@pytest.mark.parametrize("case", LARGE, ids=lambda case: case.op)
def test_native_code_of_large_sizes_looks_at_strides(sandbox: Sandbox, case: Case) -> None:
    report = sandbox.run(Trial(case, one_by_one=tuple(LAYOUTS)))
    assert report.succeeded and not report.problems


def test_code_that_ignores_strides_is_noticed() -> None:
    """It ends a process when it reads behind a repeated value, and finds NaN between other elements."""
    code = """
import numpy as np
from tests.operands import LAYOUTS

for name in ("inside", "every second", "one value"):
    operand = LAYOUTS[name].operand(np.ones(8, np.float32))
    print(name, np.lib.stride_tricks.as_strided(operand, (8,), (4,)).sum(), flush=True)
"""
    child = children.run([sys.executable, "-c", code], check=False, forked=True)
    assert (child.returncode, child.stdout.splitlines()) == (-signal.SIGSEGV, ["inside 8.0", "every second nan"])


def larger(case: Case, times: int, dtype: str | None = None) -> Case:
    """Returns a call with more elements, of another type if it is given."""

    def change(value: object, is_size: bool) -> object:
        if isinstance(value, list):
            return [change(item, is_size) for item in value]
        if isinstance(value, Variable):
            plain = value.value is not None and not hasattr(value, "make_handle")
            return held(change(np.asarray(value.value), False)) if plain else value
        if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in "f":
            return value * np.array(times, value.dtype) if is_size else value
        many = np.tile(value, [times] * value.ndim)
        many *= 1 + (np.arange(many.size).reshape(many.shape) % 7 / 100).astype(many.dtype)
        return many if dtype is None else convert(many, dtypes.as_dtype(dtype))

    inputs = [change(v, arg.name in _SIZES) for arg, v in zip(OPS.lookup(case.op).inputs, case.inputs)]
    attrs = {key: dtype if dtype and value == "float32" else value for key, value in case.attrs.items()}
    return Case(case.op, (*inputs, *case.inputs[len(inputs) :]), attrs)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("times", [1, LARGER])
def test_every_kernel_and_gradient_looks_at_the_strides_of_each_operand(
    sandbox: Sandbox, times: int, computed: bool
) -> None:
    cases = [valid(name) if times == 1 else larger(valid(name), times) for name in RUN]
    trials = [Trial(case, computed=computed, slopes=True, one_by_one=tuple(LAYOUTS)) for case in [*cases, *LARGE]]
    assert not [problem for trial in trials for problem in problems(sandbox, trial)]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64"])
def test_every_kernel_looks_at_strides_in_other_types(sandbox: Sandbox, dtype: str) -> None:
    trials = [Trial(larger(valid(name), LARGER, dtype), slopes=True) for name in RUN]
    assert not [problem for trial in trials for problem in problems(sandbox, trial)]
