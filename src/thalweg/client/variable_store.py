"""The variable store: the variables of a graph by full name, made once and shared."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from thalweg import dtypes, shapes
from thalweg.client.initializers import glorot_uniform_initializer, zeros_initializer
from thalweg.client.variables import Variable, VariableAggregation, VariableSynchronization
from thalweg.dtypes import DType
from thalweg.graph.scopes import GraphKeys, init_scope

Getter = Callable[..., Any]


class VariableStore:
    """The variables of a graph by full name."""

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}

    def get(self, name: str, custom_getter: Getter | None = None, **kwargs: Any) -> Any:
        """Returns the variable of this name, found or made as `reuse` says, through the custom getter if any."""
        if custom_getter is None:
            return self._get(name, **kwargs)
        if not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        if not _takes(custom_getter, "constraint"):
            del kwargs["constraint"]
        return custom_getter(getter=self._get, name=name, **kwargs)

    def _get(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        constraint: Any = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        if partitioner is not None:
            raise ValueError(f"Variable {name}: partitioned variables are not supported, leave out the partitioner")
        if initializer is not None and not callable(initializer) and shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        dtype, shape = dtypes.as_dtype(dtype).base_dtype, shapes.as_shape(shape)
        if name in self.variables:
            return self._share(name, shape, dtype, reuse)
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
            )
        initial_value, made_dtype = _initial_value(name, initializer, shape, dtype)
        variable: Any = Variable(
            initial_value,
            name=name,
            trainable=trainable,
            collections=collections,
            caching_device=caching_device,
            dtype=made_dtype,
            validate_shape=validate_shape,
            constraint=constraint,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )
        self.variables[name] = variable
        if regularizer is not None:
            _regularize(variable, name, regularizer)
        return variable

    def _share(self, name: str, shape: shapes.Shape, dtype: DType, reuse: Any) -> Any:
        found = self.variables[name]
        if reuse is False:
            raise ValueError(
                f"Variable {name} already exists, disallowed. "
                "Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope? "
                f"Originally defined at: {found.op.made_at}"
            )
        if not found.get_shape().is_compatible_with(shape):
            raise ValueError(
                f"Trying to share variable {name}, but specified shape {shapes.show(shape)} "
                f"and found shape {found.get_shape()}."
            )
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype {found.dtype.name}."
            )
        return found


def _takes(function: Any, argument: str) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == argument or p.kind is p.VAR_KEYWORD for p in parameters)


def _initial_value(name: str, initializer: Any, shape: shapes.Shape, dtype: DType) -> tuple[Any, DType | None]:
    """Returns the initial value, or the function that makes it, and the dtype to make the variable with."""
    if initializer is None:
        if shape is None:
            raise ValueError(f"Variable {name} did not get an initializer, so its `shape` argument must be specified.")
        initializer = _default_initializer(name, dtype)
    if not callable(initializer):
        return initializer, None
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape is not None and shapes.is_fully_defined(shape):
        return functools.partial(initializer, list(shape), dtype=dtype), dtype
    parameters = inspect.signature(initializer).parameters.values()
    if all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return initializer, None
    raise ValueError(
        f"Shape of a new variable ({name}) must be fully defined, but instead was {shapes.show(shape)}; "
        "without a shape the initializer must be a value or a callable with no arguments."
    )


def _default_initializer(name: str, dtype: DType) -> Any:
    if dtype.is_floating:
        return glorot_uniform_initializer()
    if dtype.is_integer or dtype.is_bool or dtype is dtypes.string:
        return zeros_initializer()
    raise ValueError(f"An initializer for variable {name} of {dtype} is required")


def _regularize(variable: Any, name: str, regularizer: Callable[[Any], Any]) -> None:
    graph = variable.graph
    with graph.colocate_with(variable.op), graph.name_scope(f"{name}/Regularizer/"), init_scope():
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
