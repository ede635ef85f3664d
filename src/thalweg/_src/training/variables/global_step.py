"""The global step: a variable that counts the updates of a model."""

from __future__ import annotations

import logging
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.errors import require_kind, require_members
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.replication import VariableAggregation
from thalweg._src.training.variables.sessions import SessionLike
from thalweg._src.training.variables.slots import filled_with
from thalweg._src.training.variables.variable_scope import get_variable
from thalweg._src.training.variables.variables import Variable

_log = logging.getLogger("thalweg")
_READ = "global_step_read"


@export("train.global_step")
def global_step(sess: SessionLike, global_step_tensor: TensorLike) -> int:
    """Returns the value of the global step in a session."""
    require_members("sess", sess, "a session", "run")
    return int(sess.run(global_step_tensor))


@export("train.get_global_step", "contrib.framework.get_global_step", "contrib.slim.get_global_step")
def get_global_step(graph: Graph | None = None) -> Any:
    """Returns the global step of a graph, by its collection or by its name, or None."""
    graph = graph or get_default_graph()
    require_kind("graph", graph, Graph, "a Graph or None")
    steps = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(steps) > 1:
        _log.error("Multiple tensors in global_step collection.")
        return None
    if steps:
        step = steps[0]
    elif graph.executes:
        return None
    else:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
        named = [v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if v.op is step.op]
        step = named[0] if named else step
    assert_global_step(step)
    return step


def global_step_read(graph: Graph | None = None) -> Tensor | None:
    """Returns a tensor with the global step before the updates of a step that fetches it, or None without one."""
    graph = graph or get_default_graph()
    step = get_global_step(graph)
    if step is None:
        return None

    def read() -> Tensor:
        with graph.as_default(), graph.name_scope(f"{step.op.name}/"):
            return convert_to_tensor(step) + 0

    return graph.singleton(_READ, read)  # type: ignore[no-any-return]


def existing_global_step_read(graph: Graph) -> Tensor | None:
    """Returns the tensor of `global_step_read`, or None if it was not asked for before."""
    return graph._singletons.get(_READ)


@export("train.create_global_step", "contrib.framework.create_global_step", "contrib.slim.create_global_step")
def create_global_step(graph: Graph | None = None) -> Any:
    """Creates the global step of a graph, an int64 variable that starts at 0."""
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=filled_with(0),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
        )


@export(
    "train.get_or_create_global_step",
    "contrib.framework.get_or_create_global_step",
    "contrib.slim.get_or_create_global_step",
)
def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Returns the global step of a graph, created on first use."""
    graph = graph or get_default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


@export("train.assert_global_step", "contrib.framework.assert_global_step", "contrib.slim.assert_global_step")
def assert_global_step(global_step_tensor: TensorLike) -> None:
    """Raises TypeError unless the argument is an integer scalar."""
    if not isinstance(global_step_tensor, Variable | Tensor):
        raise TypeError(f"global_step: expected a variable or a tensor, received {global_step_tensor!r}")
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(f"global_step: expected an integer dtype, received {global_step_tensor.dtype.name}")
    shape = global_step_tensor.get_shape()
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f"global_step: expected a scalar, received shape {shape}")
