"""tf.test: test cases, gradient checkers, and what a test may ask of the machine."""

from unittest import mock

from thalweg._src.autodiff.numeric import compute_gradient, compute_gradient_error
from thalweg._src.testing.test_case import TestCase, get_temp_dir
from thalweg._src.testing.testing import (
    Benchmark,
    StubOutForTesting,
    assert_equal_graph_def,
    benchmark_config,
    gpu_device_name,
    is_built_with_cuda,
    is_built_with_gpu_support,
    is_built_with_rocm,
    is_built_with_xla,
    is_gpu_available,
    main,
    test_src_dir_path,
)

__all__ = [
    "Benchmark",
    "StubOutForTesting",
    "TestCase",
    "assert_equal_graph_def",
    "benchmark_config",
    "compute_gradient",
    "compute_gradient_error",
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_gpu_available",
    "main",
    "mock",
    "test_src_dir_path",
]
