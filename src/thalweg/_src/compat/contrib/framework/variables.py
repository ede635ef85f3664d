"""Model variables: created with collections and devices, and retrieved by scope, suffix or pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import require_members, require_text
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.base.signatures import parameters_of
from thalweg._src.compat.contrib.framework.arg_scope import add_arg_scope
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.scopes import GraphKeys, add_to_collection, device as device_scope, get_collection
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.global_step import assert_global_step, get_global_step
from thalweg._src.training.variables.replication import VariableAggregation, VariableSynchronization
from thalweg._src.training.variables.variable_scope import VariableScope, get_variable, variable_scope
from thalweg._src.training.variables.variables import Variable


@export("contrib.framework.variable", "contrib.slim.variable")
@add_arg_scope
def variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: TensorLike | Callable[..., Any] | None = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    caching_device: str | DeviceSpec | Callable[..., Any] | None = None,
    device: str | DeviceSpec | Callable[..., Any] | None = None,
    partitioner: Callable[..., Any] | None = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """Returns the variable with a name in the current variable scope, on a device.

    Args:
        name: Name of the variable in the current scope.
        shape: Shape of the variable.
        dtype: Element type of the variable.
        initializer: Function or value that gives the initial value; by default that of the scope.
        collections: Collections that a new variable is added to.
        device: Device of the variable: a name or a function.
    """
    collections = list(collections) if collections is not None else [GraphKeys.GLOBAL_VARIABLES]
    with device_scope(device or ""):
        return (custom_getter or get_variable)(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=list(dict.fromkeys(collections)),
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )


@export("contrib.framework.model_variable", "contrib.slim.model_variable")
@add_arg_scope
@parameters_of(variable, dtype=dtypes.float32)
def model_variable(**arguments: Any) -> Any:
    """Returns a variable that is also in the collection of model variables."""
    collections = [*(arguments.pop("collections") or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(**arguments, collections=collections)


@export("contrib.framework.local_variable", "contrib.slim.local_variable")
def local_variable(
    initial_value: TensorLike | Callable[..., Any],
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: bool | None = None,
) -> Any:
    """Returns a new local variable, which is neither saved nor trained.

    Args:
        initial_value: The value before training.
        name: Name of the variable.
    """
    return Variable(**locals(), trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])


@export("contrib.framework.global_variable", "contrib.slim.global_variable")
@parameters_of(local_variable)
def global_variable(**arguments: Any) -> Any:
    """Returns a new global variable, which is not trained."""
    return Variable(**arguments, trainable=False, collections=[GraphKeys.GLOBAL_VARIABLES])


@export("contrib.framework.add_model_variable", "contrib.slim.add_model_variable")
def add_model_variable(var: object) -> None:
    """Adds a variable to the collection MODEL_VARIABLES, if it is not in it."""
    if not any(var is member for member in get_collection(GraphKeys.MODEL_VARIABLES)):
        add_to_collection(GraphKeys.MODEL_VARIABLES, var)


# -- finding ----------------------------------------------------------------------------------------------------------


@export("contrib.framework.get_variables", "contrib.slim.get_variables")
def get_variables(
    scope: str | VariableScope | None = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """Returns the variables of a collection whose names begin with a scope and end with a suffix."""
    scope = scope.name if isinstance(scope, VariableScope) else scope
    if suffix is not None:
        require_text("suffix", suffix)
        scope = f"{scope or ''}.*{suffix if ':' in suffix else f'{suffix}:'}"
    return get_collection(collection, scope)


@export("contrib.framework.get_model_variables", "contrib.slim.get_model_variables")
def get_model_variables(scope: str | VariableScope | None = None, suffix: str | None = None) -> list[Any]:
    """Returns the model variables, filtered by scope and suffix."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


@export("contrib.framework.get_local_variables", "contrib.slim.get_local_variables")
def get_local_variables(scope: str | VariableScope | None = None, suffix: str | None = None) -> list[Any]:
    """Returns the local variables, filtered by scope and suffix."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


@export("contrib.framework.get_trainable_variables", "contrib.slim.get_trainable_variables")
def get_trainable_variables(scope: str | VariableScope | None = None, suffix: str | None = None) -> list[Any]:
    """Returns the trainable variables, filtered by scope and suffix."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


@export("contrib.framework.get_variables_by_suffix", "contrib.slim.get_variables_by_suffix")
def get_variables_by_suffix(suffix: str, scope: str | VariableScope | None = None) -> list[Any]:
    """Returns the variables whose names end with a suffix."""
    return get_variables(scope, suffix)


@export("contrib.framework.get_variables_by_name", "contrib.slim.get_variables_by_name")
def get_variables_by_name(given_name: str, scope: str | VariableScope | None = None) -> list[Any]:
    """Returns the variables whose last part of the name is the given one."""
    return get_variables(scope, f"/{given_name}:|^{given_name}:")


@export("contrib.framework.get_unique_variable", "contrib.slim.get_unique_variable")
def get_unique_variable(var_op_name: str) -> Any:
    """Returns the one variable of a full name."""
    matches = [v for v in get_variables(var_op_name) if v.op.name == var_op_name]
    if not matches:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    if len(matches) > 1:
        raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")
    return matches[0]


@export("contrib.framework.get_variables_to_restore", "contrib.slim.get_variables_to_restore")
def get_variables_to_restore(include: Sequence[str] | None = None, exclude: Sequence[str] | None = None) -> list[Any]:
    """Returns the variables of the included scopes, by default all, without those of the excluded ones.

    Args:
        include: Scopes to include; None includes all.
        exclude: Scopes to exclude.
    """
    for name, scopes in (("include", include), ("exclude", exclude)):
        if scopes is not None and not isinstance(scopes, list | tuple):
            raise ValueError(f"{name}: expected scopes in a list, or None, received {scopes!r}")
    chosen = get_variables() if include is None else [v for scope in include for v in get_variables(scope)]
    unwanted = {id(v) for scope in exclude or () for v in get_variables(scope)}
    return [v for v in chosen if id(v) not in unwanted]


@export("contrib.framework.filter_variables", "contrib.slim.filter_variables")
def filter_variables(
    var_list: Sequence[Any],
    include_patterns: Sequence[str] | None = None,
    exclude_patterns: Sequence[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """Returns the variables whose names match one of the patterns to include and none of those to exclude.

    Args:
        var_list: The variables.
        include_patterns: Regular expressions of names to include; None includes all.
        exclude_patterns: Regular expressions of names to exclude.
        reg_search: Whether a pattern may match anywhere in a name, not only at its start.
    """
    matches = re.search if reg_search else re.match
    if include_patterns is not None:
        var_list = [v for v in var_list if any(matches(p, v.op.name) for p in include_patterns)]
    if exclude_patterns is not None:
        var_list = [v for v in var_list if not any(matches(p, v.op.name) for p in exclude_patterns)]
    return list(var_list)


@export("contrib.framework.get_variable_full_name", "contrib.slim.get_variable_full_name")
def get_variable_full_name(var: Any) -> str:
    """Returns the name under which a variable is saved; for a partition, that of the whole variable."""
    require_members("var", var, "a variable", "op")
    slice_info = getattr(var, "_save_slice_info", None)
    return str(slice_info.full_name if slice_info else var.op.name)


# -- values -----------------------------------------------------------------------------------------------------------


@export("contrib.framework.assign_from_values", "contrib.slim.assign_from_values")
def assign_from_values(var_names_to_values: dict[str, Any]) -> tuple[Operation, dict[Any, Any]]:
    """Returns an operation that assigns values to variables, and its feed dictionary."""
    assigns, feeds = [], {}
    require_members("var_names_to_values", var_names_to_values, "a dict of values", "items")
    for name, value in var_names_to_values.items():
        variable = get_unique_variable(name)
        array = np.asarray(value)
        with device_scope(""):
            fed = placeholder(variable.dtype, array.shape)
        assigns.append(variable.assign(fed))
        feeds[fed] = array
    return group(*assigns), feeds


@export("contrib.framework.assign_from_values_fn", "contrib.slim.assign_from_values_fn")
def assign_from_values_fn(var_names_to_values: dict[str, Any]) -> Callable[[Any], None]:
    """Returns a function of a session that assigns values to variables."""
    assign, feeds = assign_from_values(var_names_to_values)

    def assigned(session: Any) -> None:
        session.run(assign, feeds)

    return assigned


@export("contrib.framework.assert_or_get_global_step")
def assert_or_get_global_step(graph: Graph | None = None, global_step_tensor: Any = None) -> Any:
    """Returns the global step given, having checked it, or that of the graph."""
    if global_step_tensor is None:
        return get_global_step(graph or get_default_graph())
    assert_global_step(global_step_tensor)
    return global_step_tensor


def renaming_getter(rename: dict[str, str] | None = None) -> Callable[..., Any]:
    """Returns a custom getter that creates the variables of a layer as model variables, renamed."""
    names = rename or {}

    def getter(
        getter: Callable[..., Any],
        name: str,
        shape: object = None,
        dtype: DTypeLike | None = None,
        initializer: object = None,
        regularizer: object = None,
        reuse: object = None,
        trainable: bool = True,
        collections: object = None,
        caching_device: object = None,
        partitioner: object = None,
        **kwargs: Any,
    ) -> Any:
        parent, slash, last = name.rpartition("/")

        def get(name: str, **arguments: Any) -> Any:
            return getter(name, reuse=reuse, **{**kwargs, **arguments})

        passed_on = {key: kwargs[key] for key in ("use_resource", "synchronization", "aggregation") if key in kwargs}
        return model_variable(
            f"{parent}{slash}{names.get(last, last)}",
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=collections,
            caching_device=caching_device,
            partitioner=partitioner,
            custom_getter=get,
            **passed_on,
        )

    return getter


def layer_scope(
    scope: Any, default: str, inputs: Any, reuse: Any = None, rename: dict[str, str] | None = None
) -> variable_scope:
    """Returns the variable scope of a contrib layer, whose variables are model variables."""
    return variable_scope(scope, default, [inputs], reuse=reuse, custom_getter=renaming_getter(rename))
