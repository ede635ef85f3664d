"""The mode of a program: eager execution, where operations run at once, or graphs."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

import thalweg._src.graph.control_flow.eager_tensor_array  # how arrays are made
import thalweg._src.runtime.eager.execute  # noqa: F401  how operations are called
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.export import export, export_constants
from thalweg._src.graph.default import is_global_graph_used
from thalweg._src.graph.default_stacks import default_graph_scope, stacks
from thalweg._src.graph.graph import Graph
from thalweg._src.runtime.eager.graph import EagerGraph

_DEVICE_POLICIES = (None, 0, 1, 2, 3)
SYNC, ASYNC = 0, 1
export_constants(SYNC="contrib.eager.SYNC", ASYNC="contrib.eager.ASYNC")
_graph: EagerGraph | None = None


def eager_graph() -> EagerGraph:
    """Returns the graph of eager execution of this process."""
    global _graph
    if _graph is None:
        _graph = EagerGraph()
    return _graph


@export("enable_eager_execution", "contrib.eager.enable_eager_execution")
def enable_eager_execution(
    config: ConfigProto | None = None, device_policy: int | None = None, execution_mode: int | None = None
) -> None:
    """Makes operations run at once from now on; called at program startup.

    Args:
        config: A ConfigProto with the devices and threads to use.
        device_policy: What happens if an input is on another device; it is copied in any case.
        execution_mode: SYNC or ASYNC; on a GPU, kernels always run asynchronously.
    """
    if config is not None and not isinstance(config, ConfigProto):
        raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
    if device_policy not in _DEVICE_POLICIES:
        raise ValueError("device_policy must be one of None, tf.contrib.eager.DEVICE_PLACEMENT_*")
    if execution_mode not in (None, SYNC, ASYNC):
        raise ValueError("execution_mode must be one of None, tf.contrib.eager.SYNC, tf.contrib.eager.ASYNC")
    if stacks.outermost is not None:
        return
    if stacks.graphs or is_global_graph_used():
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    global _graph
    if config is not None:
        _graph = EagerGraph(config)
    eager_graph().execution_mode = execution_mode or SYNC
    stacks.set_outermost(eager_graph())
    # Tapes keep many small objects for a short time. The 200,000 objects of modules, which live as long as the program,
    # need not be visited whenever the collector looks through those.
    gc.collect()
    gc.freeze()


@export("disable_eager_execution")
def disable_eager_execution() -> None:
    """Makes operations be added to graphs again; called at program startup."""
    stacks.set_outermost(None)


@contextlib.contextmanager
def eager_mode() -> Iterator[None]:
    """Context manager: operations run at once."""
    with default_graph_scope(eager_graph()):
        yield


def host_scope() -> contextlib.AbstractContextManager[None]:
    """Returns a context manager in which eager operations and new values are on the host; graphs are as they are."""
    return eager_graph().device("/device:CPU:0") if stacks.is_eager else contextlib.nullcontext()


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """Context manager: operations are added to a new graph."""
    with Graph().as_default():
        yield
