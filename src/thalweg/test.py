"""tf.test: Test cases, gradient checks and queries of the test environment."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.graph.autodiff.numeric import (
    compute_gradient as compute_gradient,
    compute_gradient_error as compute_gradient_error,
)
from thalweg._src.tools.testing.local_cluster import create_local_cluster as create_local_cluster
from thalweg._src.tools.testing.test_case import (
    TestCase as TestCase,
    get_temp_dir as get_temp_dir,
)
from thalweg._src.tools.testing.testing import (
    Benchmark as Benchmark,
    StubOutForTesting as StubOutForTesting,
    assert_equal_graph_def as assert_equal_graph_def,
    benchmark_config as benchmark_config,
    gpu_device_name as gpu_device_name,
    is_built_with_cuda as is_built_with_cuda,
    is_built_with_gpu_support as is_built_with_gpu_support,
    is_built_with_rocm as is_built_with_rocm,
    is_built_with_xla as is_built_with_xla,
    is_gpu_available as is_gpu_available,
    main as main,
    mock as mock,
    test_src_dir_path as test_src_dir_path,
)

__all__ = [
    "Benchmark", "StubOutForTesting", "TestCase", "assert_equal_graph_def", "benchmark_config", "compute_gradient",
    "compute_gradient_error", "create_local_cluster", "get_temp_dir", "gpu_device_name", "is_built_with_cuda",
    "is_built_with_gpu_support", "is_built_with_rocm", "is_built_with_xla", "is_gpu_available", "main", "mock",
    "test_src_dir_path",
]
