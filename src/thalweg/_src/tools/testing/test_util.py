"""`tensorflow.python.framework.test_util`: test cases, and decorators that choose in which modes a test runs.

Decorators for both modes run a test twice, with a graph and eagerly; those for TensorFlow 2 skip it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import unittest
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.scopes import device as tf_device
from thalweg._src.runtime.eager.mode import eager_mode, graph_mode
from thalweg._src.tools.testing.test_case import TestCase
from thalweg._src.tools.testing.testing import (
    assert_equal_graph_def as assert_equal_graph_def,
    gpu_device_name as gpu_device_name,
    is_gpu_available as is_gpu_available,
)

T = TypeVar("T")
TensorFlowTestCase = TestCase


def _unchanged(func: T) -> T:
    return func


def _optional(decorate: Callable[[T], T]) -> Callable[..., Any]:
    """Returns a decorator that may be written with or without arguments."""

    def decorator(func: Any = None, *args: Any, **kwargs: Any) -> Any:
        return decorate(func) if callable(func) else decorate

    return decorator


@export("contrib.eager.run_test_in_graph_and_eager_modes")
def run_in_graph_and_eager_modes(
    func: Any = None,
    config: object = None,
    use_gpu: bool = True,
    reset_test: bool = True,
    assert_no_eager_garbage: bool = False,
) -> Any:
    """Decorates a test that runs twice: with a graph, in the test's session, and eagerly."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def decorated(self: Any, *args: Any, **kwargs: Any) -> None:
            with (
                contextlib.suppress(unittest.SkipTest),
                graph_mode(),
                self.test_session(use_gpu=use_gpu, config=config),
            ):
                func(self, *args, **kwargs)
            if reset_test:
                self.tearDown()
            with eager_mode(), contextlib.nullcontext() if use_gpu else tf_device("/device:CPU:0"):
                if reset_test:
                    self.setUp()
                func(self, *args, **kwargs)

        return decorated

    return decorate if func is None else decorate(func)


@export("contrib.eager.run_all_tests_in_graph_and_eager_modes")
def run_all_in_graph_and_eager_modes(cls: Any) -> Any:
    """Decorates a test case whose tests run twice: with a graph and eagerly."""
    for name in unittest.defaultTestLoader.getTestCaseNames(cls):
        if name != "test_session":
            setattr(cls, name, run_in_graph_and_eager_modes(getattr(cls, name)))
    return cls


run_deprecated_v1 = _optional(_unchanged)
run_all_in_deprecated_graph_mode_only = _unchanged
deprecated_graph_mode_only = _optional(_unchanged)
also_run_as_tf_function = _unchanged
enable_control_flow_v2 = _unchanged
enable_all_with_v1_control_flow = with_control_flow_v2 = _unchanged
build_as_function_and_v1_graph = _unchanged
disable_xla = disable_all_xla = no_xla_auto_jit = xla_allow_fallback = _optional(_unchanged)


def run_v1_only(reason: str = "", func: object = None) -> Any:
    """Decorates a test that runs in TensorFlow 1 alone: it is run."""
    if callable(reason):
        return reason
    return _unchanged if func is None else func


def run_v2_only(func: object = None) -> Any:
    """Decorates a test that runs in TensorFlow 2 alone: it is skipped."""
    skip = unittest.skip("needs TensorFlow 2 behaviour")
    return skip(func) if callable(func) else skip


def run_cuda_only(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a test that needs a GPU: it is skipped on a machine without one."""
    return _only_if(is_gpu_available, "needs a GPU")(func)


run_gpu_only = run_cuda_only


def _only_if(condition: Callable[[], bool], reason: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that skips a test unless a condition holds when the test starts."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def decorated(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not condition():
                self.skipTest(reason)
            return func(self, *args, **kwargs)

        return decorated

    return decorate


def skip_if(condition: object) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that skips a test if a condition, a value or a function, holds when the test starts."""
    return _only_if(lambda: not (condition() if callable(condition) else condition), "the condition of skip_if holds")


def assert_no_new_tensors(func: T) -> T:
    """Returns the test unchanged: graphs and their tensors are collected with the test's own graph."""
    return func


assert_no_new_pyobjects_executing_eagerly = assert_no_garbage_created = assert_no_new_tensors


def GpuSupportsHalfMatMulAndConv() -> bool:
    """Returns whether there is a GPU: all that torch supports compute with half precision."""
    return is_gpu_available()


def IsMklEnabled() -> bool:
    """Returns False: kernels are torch's, whatever library it uses on the CPU."""
    return False


def IsGoogleCudaEnabled() -> bool:
    """Returns whether there is a GPU."""
    return is_gpu_available()


def is_xla_enabled() -> bool:
    """Returns False: operations are compiled by Inductor."""
    return False


def InstallStackTraceHandler() -> None:
    """Does nothing: Python's faulthandler prints the stack of a crash."""


@contextlib.contextmanager
def use_gpu() -> Iterator[None]:
    """Places operations on the first GPU, or on the CPU if there is none."""
    with device(use_gpu=True):
        yield


@contextlib.contextmanager
def force_cpu() -> Iterator[None]:
    """Places operations on the CPU."""
    with device(use_gpu=False):
        yield


@contextlib.contextmanager
def device(use_gpu: bool) -> Iterator[None]:
    """Places operations on the first GPU if there is one and it is wanted, else on the CPU."""
    with tf_device("/device:GPU:0" if use_gpu and is_gpu_available() else "/device:CPU:0"):
        yield


def assert_ops_in_graph(expected_ops: dict[str, str], graph: Graph) -> dict[str, Any]:
    """Returns the nodes of a graph by name; raises ValueError unless those given have the types given."""
    operations = {operation.name: operation for operation in graph.get_operations()}
    for name, op_type in expected_ops.items():
        if name not in operations:
            raise ValueError(f"the graph has no operation {name!r}, only {', '.join(sorted(operations))}")
        if operations[name].type != op_type:
            raise ValueError(f"the operation {name!r} is of the type {operations[name].type}, not {op_type}")
    return {name: operations[name].node_def for name in expected_ops}


def NHWCToNCHW(input_tensor: object) -> Any:
    """Returns an array or a shape with its channels moved from the last to the second axis."""
    return _moved(input_tensor, lambda rank: [0, rank - 1, *range(1, rank - 1)])


def NCHWToNHWC(input_tensor: object) -> Any:
    """Returns an array or a shape with its channels moved from the second to the last axis."""
    return _moved(input_tensor, lambda rank: [0, *range(2, rank), 1])


def _moved(value: Any, permutation: Callable[[int], list[int]]) -> Any:
    if isinstance(value, list | tuple):
        return [value[axis] for axis in permutation(len(value))]
    return np.transpose(value, permutation(np.ndim(value)))


def TestSrcDirPath(relative_path: str) -> str:
    """Returns the path of a file below the folder in which tests are run."""
    return os.path.join(os.environ.get("TEST_SRCDIR", os.getcwd()), relative_path)
