"""Names by which late TensorFlow 1 programs ask for graph mode, which is all there is here."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor


def executing_eagerly() -> bool:
    """Returns False: operations are added to a graph."""
    return False


def disable_eager_execution() -> None:
    """Does nothing: graphs are the only way of execution."""


def disable_v2_behavior() -> None:
    """Does nothing: TensorFlow 1's behaviour is the only one."""


def disable_resource_variables() -> None:
    """Does nothing: variables have resource semantics whatever is asked, which no correct program can tell."""


def enable_resource_variables() -> None:
    """Does nothing: variables have resource semantics."""


def resource_variables_enabled() -> bool:
    return True


def executing_eagerly_outside_functions() -> bool:
    """Returns False: there is nothing but graphs."""
    return False


def control_flow_v2_enabled() -> bool:
    """Returns False: conditionals and loops are graphs of Switch, Merge and their like."""
    return False


def enable_control_flow_v2() -> None:
    """Does nothing: it would change how loops are written in a graph, not what they compute."""


def disable_control_flow_v2() -> None:
    """Does nothing: TensorFlow 1's way of writing loops in a graph is the only one."""


def disable_tensor_equality() -> None:
    """Does nothing: tensors are compared by identity, as in TensorFlow 1."""


def disable_v2_tensorshape() -> None:
    """Does nothing: shapes are made of Dimensions, as in TensorFlow 1."""


def is_tensor(x: Any) -> bool:
    """Tells whether a value is a tensor, a variable, or rows of one."""
    return isinstance(x, Tensor | IndexedSlices | SparseTensor) or hasattr(x, "_as_graph_element")
