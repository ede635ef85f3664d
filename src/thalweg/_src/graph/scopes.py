"""Graph scopes: the `with` blocks of the default graph, under their public names."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.default import get_default_graph, outermost
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.names import as_name
from thalweg._src.graph.tensor import Tensor


@export("name_scope")
class name_scope:
    """A context manager for `with tf.name_scope(name, default_name, values) as scope`.

    Args:
        name: Name of the scope; None takes `default_name`, an empty string leaves all scopes.
        values: Tensors whose graph is used.
    """

    name = ReadOnly[str | None]("The name of the scope.")

    def __init__(
        self, name: str | None, default_name: str | None = None, values: Iterable[object] | None = None
    ) -> None:
        if name is None and default_name is None and values is not None:
            raise TypeError("at least one of name and default_name must be given")
        scope = default_name if name is None else name
        self._name = as_name(scope) if scope else scope
        self._values = values
        self._stack: list[Any] = []

    def __enter__(self) -> str:
        if stacks.is_eager:
            return self._enter_eagerly()
        stack = contextlib.ExitStack()
        graph = graph_of(self._values) if self._values else None
        if graph is None:
            graph = get_default_graph()
        else:
            stack.enter_context(graph.as_default())
        self._stack.append(stack)
        return stack.enter_context(graph.name_scope(self._name))

    def _enter_eagerly(self) -> str:
        """Enters a scope of eager execution, whose names only variables have."""
        # Eager operations have no names, so that nothing has to be unique.
        scopes, name = get_default_graph().scopes, self._name
        self._stack.append((scopes, scopes.name))
        if not name:
            scopes.name = ""
        elif name[-1] == "/":
            scopes.name = name[:-1]
        else:
            scopes.name = f"{scopes.name}/{name}" if scopes.name else name
        return f"{scopes.name}/" if scopes.name else ""

    def __exit__(self, *exc: object) -> None:
        entered = self._stack.pop()
        if type(entered) is tuple:
            entered[0].name = entered[1]
        else:
            entered.__exit__(None, None, None)


@export("op_scope")
@contextlib.contextmanager
def op_scope(values: Iterable[object] | None, name: str | None, default_name: str | None = None) -> Iterator[str]:
    """Deprecated form of `name_scope`, with the values first.

    Args:
        values: Tensors whose graph is used.
        name: Name of the scope; None takes `default_name`, an empty string leaves all scopes.
    """
    with name_scope(name, default_name, values) as scope:
        yield scope


def graph_of(values: Iterable[object]) -> Graph | None:
    """Returns the graph of the first tensor among the values; within a function's body, the function's own."""
    # The values of an op in a function, or in eager execution, may be tensors of several graphs; the op belongs to
    # neither.
    default = get_default_graph()
    if default.captures or default.executes:
        return default
    for value in values:
        if isinstance(value, Tensor):
            if not value.is_eager:
                return value.graph
            continue
        if isinstance(value, list | tuple):
            graph = graph_of(value)
            if graph is not None:
                return graph
        element = getattr(value, "graph", None)
        if isinstance(element, Graph):
            return element
    return None


def in_graph_of(tensor: Tensor) -> contextlib.AbstractContextManager[Any]:
    """Returns a context manager that makes the graph of a tensor the default one; an eager tensor belongs to none."""
    return contextlib.nullcontext() if tensor.is_eager else tensor.graph.as_default()


@export("device")
def device(
    device_name_or_function: str | DeviceSpec | Callable[..., Any] | None,
) -> contextlib.AbstractContextManager[None]:
    """Returns a context manager that places operations on a device."""
    return get_default_graph().device(device_name_or_function)


@export("control_dependencies")
def control_dependencies(control_inputs: Iterable[object] | None) -> contextlib.AbstractContextManager[None]:
    """Returns a context manager whose operations run only after the given ones.

    Args:
        control_inputs: Operations and tensors to wait for; None drops the dependencies of enclosing blocks.
    """
    return get_default_graph().control_dependencies(control_inputs)


@export("container")
def container(container_name: str) -> contextlib.AbstractContextManager[str]:
    """Returns a context manager that assigns stateful operations to a named resource container.

    Args:
        container_name: Name of the container that holds the resources made inside.
    """
    return get_default_graph().container(container_name)


@export("colocate_with")
def colocate_with(op: object, ignore_existing: bool = False) -> contextlib.AbstractContextManager[None]:
    """Returns a context manager that places operations on the device of another one.

    Args:
        op: The operation or tensor whose device is used.
        ignore_existing: Whether colocation constraints of enclosing blocks are dropped.
    """
    return get_default_graph().colocate_with(op, ignore_existing)


@export("init_scope", "contrib.framework.init_scope")
@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Lifts operations out of control dependencies, control flow and functions, so that they can run first."""
    graph = get_default_graph()
    scope = graph.scopes.name
    if not graph.captures and not graph.executes:
        with graph.control_dependencies(None):
            yield
        return
    graph = outermost(graph)
    # What is lifted out is no part of what the tapes record, and must not be differentiated with it.
    tapes, stacks.tapes = stacks.tapes, ()
    try:
        with graph.as_default(), graph.control_dependencies(None), graph.name_scope(f"{scope}/" if scope else None):
            yield
    finally:
        stacks.tapes = tapes


def captured_scopes(graph: Graph) -> dict[str, Any]:
    """Returns the scopes that this thread has entered in a graph, for `with_scopes` in another thread."""
    return {key: list(value) if isinstance(value, list) else value for key, value in vars(graph.scopes).items()}


@contextlib.contextmanager
def with_scopes(graph: Graph, captured: dict[str, Any]) -> Iterator[None]:
    """Context manager: adds operations in the scopes that another thread has entered, instead of those of this one."""
    # Scopes are per thread. A function that another thread traces (a replica, a map of a dataset) is to find those of
    # its caller.
    before = dict(vars(graph.scopes))
    vars(graph.scopes).update(captured)
    try:
        yield
    finally:
        vars(graph.scopes).update(before)


@export("add_to_collection")
def add_to_collection(name: Hashable, value: object) -> None:
    """Adds a value to a collection of the default graph.

    Args:
        name: Name of the collection.
        value: The object to add.
    """
    get_default_graph().add_to_collection(name, value)


@export("add_to_collections")
def add_to_collections(names: Iterable[Hashable], value: object) -> None:
    """Adds a value to several collections of the default graph.

    Args:
        names: Names of the collections.
        value: The object to add.
    """
    get_default_graph().add_to_collections(names, value)


@export("get_collection")
def get_collection(key: Hashable, scope: str | None = None) -> list[Any]:
    """Returns a list of the values of a collection of the default graph, filtered by name scope.

    Args:
        key: Name of the collection.
        scope: Regular expression that names must match at their start; None takes all.
    """
    return get_default_graph().get_collection(key, scope)


@export("get_collection_ref")
def get_collection_ref(key: Hashable) -> list[Any]:
    """Returns the list of a collection itself, so that changes to it change the collection.

    Args:
        key: Name of the collection.
    """
    return get_default_graph().get_collection_ref(key)


@export("GraphKeys")
class GraphKeys:
    """The standard names of collections."""

    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
