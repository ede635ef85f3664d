"""Names by which late TensorFlow 1 programs ask for graph mode, which is all there is here."""

from __future__ import annotations

from typing import Any

from thalweg._src.export import export
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor


@export("executing_eagerly")
def executing_eagerly() -> bool:
    """Returns False: operations are added to a graph."""
    return False


@export("disable_eager_execution")
def disable_eager_execution() -> None:
    """Does nothing: graphs are the only way of execution."""


@export("disable_v2_behavior")
def disable_v2_behavior() -> None:
    """Does nothing: TensorFlow 1's behaviour is the only one."""


@export("disable_resource_variables")
def disable_resource_variables() -> None:
    """Does nothing: variables always have resource semantics."""


@export("enable_resource_variables")
def enable_resource_variables() -> None:
    """Does nothing: variables have resource semantics."""


@export("resource_variables_enabled")
def resource_variables_enabled() -> bool:
    """Returns True: variables always have resource semantics."""
    return True


@export("executing_eagerly_outside_functions")
def executing_eagerly_outside_functions() -> bool:
    """Returns False: there is nothing but graphs."""
    return False


@export("control_flow_v2_enabled")
def control_flow_v2_enabled() -> bool:
    """Returns False: conditionals and loops are graphs of Switch, Merge and their like."""
    return False


@export("enable_control_flow_v2")
def enable_control_flow_v2() -> None:
    """Does nothing: it would change how loops are written in a graph, not what they compute."""


@export("disable_control_flow_v2")
def disable_control_flow_v2() -> None:
    """Does nothing: TensorFlow 1's way of writing loops in a graph is the only one."""


@export("disable_tensor_equality")
def disable_tensor_equality() -> None:
    """Does nothing: tensors are compared by identity, as in TensorFlow 1."""


@export("disable_v2_tensorshape")
def disable_v2_tensorshape() -> None:
    """Does nothing: shapes are made of Dimensions, as in TensorFlow 1."""


@export("is_tensor", "contrib.framework.is_tensor")
def is_tensor(x: Any) -> bool:
    """Returns whether a value is a tensor, a variable, IndexedSlices or a sparse tensor."""
    return isinstance(x, Tensor | IndexedSlices | SparseTensor) or hasattr(x, "_as_graph_element")
