"""A GPU runs every operation with every type that the CPU runs it with; kernels that it lacks are placed on the CPU."""

import numpy as np
import pytest

import thalweg as tf
from tests.sandbox import Case, attempt
from tests.strategies import valid
from tests.test_bad_input import NAMES, NEVER_RUNS
from thalweg._src.graph.op_def import OPS
from thalweg._src.runtime.resources import accelerators

TYPES = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
]  # fmt: skip

# Torch computes them by fused kernels of CUDA, which the pretended GPU lacks.
FUSED = ("CudnnRNN", "CudnnRNNBackprop", "CudnnRNNBackpropV3", "CudnnRNNV3")


@pytest.fixture(autouse=True)
def needs_a_gpu():
    with tf.Session() as session:
        if not any(device.device_type == "GPU" for device in session.list_devices()):
            pytest.skip("there is no GPU")


def typed(name, dtype):
    """Returns a call of an operation with a type `T`, if it has one."""
    definition, case = OPS.lookup(name), valid(name)
    is_typed = [arg.type_attr == "T" for arg in definition.inputs]
    attr = definition.attrs.get("T")
    if not any(is_typed) or (attr.allowed is not None and dtype not in attr.allowed):
        return None

    def cast(value):
        if isinstance(value, list):
            return [cast(v) for v in value]
        value = np.asarray(value)
        return (np.ones(value.shape) if value.dtype.kind in "OS" else value).astype(dtype.as_numpy_dtype)

    with np.errstate(invalid="ignore"):
        inputs = [cast(value) if of_type else value for value, of_type in zip(case.inputs, is_typed)]
    return Case(name, (*inputs, *case.inputs[len(inputs) :]), case.attrs)


def runs(case):
    try:
        return not isinstance(attempt(case, "static"), str)
    except Exception:  # it does not even build
        return False


@pytest.mark.parametrize("dtype", TYPES)
def test_a_gpu_runs_what_the_cpu_runs(dtype, monkeypatch):
    names = [name for name in NAMES if name not in NEVER_RUNS and not OPS.lookup(name).waits and name not in FUSED]
    cases = [case for name in names if (case := typed(name, tf.as_dtype(dtype)))]
    refused = [case for case in cases if not runs(case)]
    assert len(refused) < len(cases)
    monkeypatch.setattr(accelerators, "_accelerators", {})
    assert [case.op for case in refused if runs(case)] == []
