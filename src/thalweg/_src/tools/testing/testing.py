"""tf.test functions: properties of this machine and of graphs, stubs, and benchmarks."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest import mock as mock

import numpy as np
from absl.testing import absltest

from thalweg._src.base.config import ConfigProto, OptimizerOptions
from thalweg._src.base.export import export, export_constants
from thalweg._src.base.logging import info
from thalweg._src.runtime.resources.accelerators import cuda_version, gpu_capability, gpu_count


@export("test.main")
def main(argv: list[str] | None = None) -> None:
    """Runs the tests of the main module."""
    absltest.main(argv=argv)


@export("test.is_built_with_cuda")
def is_built_with_cuda() -> bool:
    """Returns whether torch was built with CUDA."""
    return cuda_version() is not None


@export("test.is_built_with_gpu_support")
def is_built_with_gpu_support() -> bool:
    """Returns whether torch was built with CUDA."""
    return is_built_with_cuda()


@export("test.is_built_with_rocm")
def is_built_with_rocm() -> bool:
    """Returns False: ROCm is not supported."""
    return False


@export("test.is_built_with_xla")
def is_built_with_xla() -> bool:
    """Returns False: programs are compiled by torch."""
    return False


@export("test.is_gpu_available")
def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None) -> bool:
    """Returns whether a GPU of at least some compute capability is available."""
    least = min_cuda_compute_capability or (0, 0)
    return any(gpu_capability(index) >= tuple(least) for index in range(gpu_count()))


@export("test.gpu_device_name")
def gpu_device_name() -> str:
    """Returns the name of the first GPU, or an empty string."""
    return "/device:GPU:0" if gpu_count() else ""


@export("test.test_src_dir_path")
def test_src_dir_path(relative_path: str) -> str:
    """Returns a path relative to the folder of the running program."""
    return os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), relative_path)


test_src_dir_path.__test__ = False  # type: ignore[attr-defined]  # its name looks like a test to pytest


@export("test.assert_equal_graph_def")
def assert_equal_graph_def(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Raises AssertionError that names the nodes, unless two GraphDefs have the same nodes in any order.

    Args:
        actual: The GraphDef to check.
        expected: The GraphDef to compare with.
        checkpoint_v2: Accepted for compatibility; it has no effect.
        hash_table_shared_name: Accepted for compatibility; it has no effect.
    """
    for what, graph in (("actual", actual), ("expected", expected)):
        if getattr(getattr(graph, "DESCRIPTOR", None), "name", "") != "GraphDef":
            raise TypeError(f"Expected tf.GraphDef for {what}, got {type(graph).__name__}")
    ours, theirs = ({node.name: node for node in graph.node} for graph in (actual, expected))
    for problem, names in (
        ("unexpected nodes", ours.keys() - theirs.keys()),
        ("missing nodes", theirs.keys() - ours.keys()),
        ("different nodes", {name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]}),
    ):
        if names:
            shown = "\n".join(f"{graph.get(name)}" for name in sorted(names)[:3] for graph in (ours, theirs))
            raise AssertionError(f"{problem}: {', '.join(sorted(names))}\n{shown}")


@export("test.StubOutForTesting")
class StubOutForTesting:
    """Replaces attributes by stubs and restores them."""

    def __init__(self) -> None:
        self._originals: list[tuple[Any, str, Any]] = []
        self._smart: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *exception: object) -> None:
        self.CleanUp()

    def CleanUp(self) -> None:
        """Restores every attribute."""
        self.SmartUnsetAll()
        self.UnsetAll()

    def Set(self, parent: object, child_name: str, new_child: object) -> None:
        """Replaces an existing attribute of the parent."""
        self._originals.append((parent, child_name, parent.__dict__.get(child_name, getattr(parent, child_name))))
        setattr(parent, child_name, new_child)

    def UnsetAll(self) -> None:
        """Restores what `Set` replaced."""
        for parent, name, child in reversed(self._originals):
            setattr(parent, name, child)
        self._originals.clear()

    def SmartSet(self, obj: object, attr_name: str, new_attr: object) -> None:
        """Replaces an attribute where it is defined: in the object, its class, or a base class."""
        owners = [obj, *getattr(obj if isinstance(obj, type) else type(obj), "__mro__", ())]
        owner = next((o for o in owners if attr_name in getattr(o, "__dict__", {})), None)
        if owner is None:
            raise AttributeError(f"{obj!r} has no attribute {attr_name!r}")
        self._smart.append((owner, attr_name, owner.__dict__[attr_name]))
        setattr(owner, attr_name, new_attr)

    def SmartUnsetAll(self) -> None:
        """Restores what `SmartSet` replaced."""
        for owner, name, attr in reversed(self._smart):
            setattr(owner, name, attr)
        self._smart.clear()


@export("test.benchmark_config")
def benchmark_config() -> ConfigProto:
    """Returns the configuration of benchmarks, without graph optimizations."""
    config = ConfigProto()
    config.graph_options.optimizer_options.opt_level = OptimizerOptions.L0
    return config


@export("test.Benchmark")
class Benchmark:
    """Times operations; the methods of a subclass whose names start with "benchmark" are its benchmarks."""

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict[str, Any] | None = None,
        name: str | None = None,
        metrics: object = None,
    ) -> None:
        """Logs a result."""
        label = f"{type(self).__name__}.{name}" if name else type(self).__name__
        info(
            "%s: iters=%s wall_time=%s s cpu_time=%s s throughput=%s %s",
            label,
            iters,
            wall_time,
            cpu_time,
            throughput,
            extras or "",
        )

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: dict[Any, Any] | None = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: dict[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Runs an operation several times and returns the median of its seconds."""
        run = sess.make_callable(op_or_tensor, feed_list=list(feed_dict or ()))
        values = list((feed_dict or {}).values())
        for _ in range(burn_iters):
            run(*values)
        seconds = [_timed(run, values) for _ in range(min_iters)]
        median = float(np.median(seconds)) if seconds else 0.0
        spread = (
            {"wall_time_mean": float(np.mean(seconds)), "wall_time_stdev": float(np.std(seconds))} if seconds else {}
        )
        result: dict[str, Any] = {
            "iters": min_iters,
            "wall_time": median,
            "throughput": mbs / median if median else 0.0,
            "extras": {**(extras or {}), **spread},
            "name": name,
        }
        self.report_benchmark(**result)
        return result


def _timed(run: Callable[..., Any], values: list[Any]) -> float:
    start = time.perf_counter()
    run(*values)
    return time.perf_counter() - start


export_constants(mock="test.mock")
