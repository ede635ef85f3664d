"""The variable store: the variables of a graph by full name, created once and shared."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.slicing import slice as slice_of
from thalweg._src.graph.scopes import GraphKeys, init_scope, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.initializers import glorot_uniform_initializer, zeros_initializer
from thalweg._src.training.variables.partitions import (
    PartitionedVariable,
    Partitioner,
    PartitionInfo,
    SaveSliceInfo,
    partitions_of,
    slices_of,
)
from thalweg._src.training.variables.replication import VariableAggregation, VariableSynchronization
from thalweg._src.training.variables.variables import Variable

Getter = Callable[..., Any]


class VariableStore:
    """The variables of a graph by full name."""

    _vars = ReadOnly[dict[str, Any]]("The variables, under the name that TensorFlow 1 programs read.", "variables")
    _partitioned_vars = ReadOnly[dict[str, Any]]("The partitioned variables, under TensorFlow's name.", "partitioned")

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.partitioned: dict[str, PartitionedVariable] = {}

    def get(self, name: str, custom_getter: Getter | None = None, **kwargs: Any) -> Any:
        """Returns the variable of this name, found or created as `reuse` says, through the custom getter if any."""
        if custom_getter is None:
            return self._get(name, **kwargs)
        if not callable(custom_getter):
            raise ValueError(f"custom_getter: expected a callable, received {custom_getter}")
        if not _takes(custom_getter, "constraint"):
            del kwargs["constraint"]
        if kwargs["trainable"] is None:  # getters decide by it
            kwargs["trainable"] = kwargs["synchronization"] is not VariableSynchronization.ON_READ
        return custom_getter(getter=self._get, name=name, **kwargs)

    def _get(
        self,
        name: str,
        shape: ShapeLike = None,
        dtype: DTypeLike = dtypes.float32,
        initializer: TensorLike | Callable[..., Any] | None = None,
        regularizer: Callable[[Any], Any] | None = None,
        reuse: object = None,
        trainable: bool | None = None,
        collections: Sequence[str] | None = None,
        caching_device: str | DeviceSpec | Callable[..., Any] | None = None,
        partitioner: Partitioner | None = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        dtype, shape = dtypes.as_dtype(dtype).base_dtype, shapes.as_shape(shape)
        settings = {
            "trainable": trainable,
            "collections": collections,
            "caching_device": caching_device,
            "validate_shape": validate_shape,
            "constraint": constraint,
            "use_resource": use_resource,
            "synchronization": synchronization,
            "aggregation": aggregation,
        }
        if partitioner is not None and shape != ():
            if not callable(partitioner):
                raise ValueError(f"partitioner: expected a callable, received {partitioner}")
            return self._get_partitioned(name, shape, dtype, initializer, regularizer, reuse, partitioner, settings)
        if reuse is True and name in self.partitioned:
            return self._share_partitions(name, shape, dtype, reuse, None)
        if f"{name}/part_0" in self.variables:
            raise ValueError(
                f"variable {name!r} was created in partitions ({name}/part_0) but is requested as a whole: "
                "pass a partitioner"
            )
        return self._single(name, shape, dtype, initializer, regularizer, reuse, None, settings)

    def _single(
        self,
        name: str,
        shape: shapes.Shape,
        dtype: DType,
        initializer: TensorLike | Callable[..., Any] | None,
        regularizer: Callable[[Any], Any] | None,
        reuse: object,
        partition_info: PartitionInfo | None,
        settings: dict[str, Any],
    ) -> Any:
        if initializer is not None and not callable(initializer) and shape is not None:
            raise ValueError(
                f"If initializer is a constant, do not specify shape: that of variable {name!r} is the constant's."
            )
        if name in self.variables:
            return self._share(name, shape, dtype, reuse)
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=tf.AUTO_REUSE in VarScope? With reuse=True no variable is created."
            )
        initial_value, initial_dtype = _initial_value(name, initializer, shape, dtype, partition_info)
        variable: Any = Variable(initial_value, name=name, dtype=initial_dtype, **settings)
        self.variables[name] = variable
        if regularizer is not None:
            _regularize(variable, name, regularizer)
        return variable

    def _get_partitioned(
        self,
        name: str,
        shape: shapes.Shape,
        dtype: DType,
        initializer: TensorLike | Callable[..., Any] | None,
        regularizer: Callable[[Any], Any] | None,
        reuse: object,
        partitioner: Partitioner,
        settings: dict[str, Any],
    ) -> PartitionedVariable:
        """Returns the variable as partitions `<name>/part_0` and so on, each initialized separately."""
        if name in self.variables:
            raise ValueError(
                f"variable {name!r} was created as a whole but is requested in partitions: leave out the partitioner"
            )
        value = None
        if initializer is not None and not callable(initializer):
            value = convert_to_tensor(initializer, None if isinstance(initializer, Tensor) else dtype)
            shape, dtype = shapes.merge(shape, value.dims), value.dtype.base_dtype
        partitions = partitions_of(partitioner, shapes.TensorShape(shape), dtype)
        if name in self.partitioned:
            return self._share_partitions(name, shape, dtype, reuse, partitions)
        if reuse is True:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?"
            )
        sizes = [int(size or 0) for size in shape or ()]
        variables = []
        for index, (offset, slice_sizes) in enumerate(slices_of(sizes, partitions)):
            slice_name, slice_shape = f"{name}/part_{index}", tuple(slice_sizes)
            start: Any = initializer
            if value is not None:
                with name_scope(f"{slice_name}/PartitionedInitializer"):
                    start = slice_of(value, offset, slice_sizes)
            info = PartitionInfo(sizes, offset)
            partition = self._single(
                slice_name,
                None if value is not None else slice_shape,
                dtype,
                start,
                regularizer,
                reuse,
                info,
                settings,
            )
            partition._set_save_slice_info(SaveSliceInfo(name, sizes, offset, slice_sizes))
            variables.append(partition)
        whole = self.partitioned[name] = PartitionedVariable(name, sizes, dtype, variables, partitions)
        return whole

    def _share_partitions(
        self, name: str, shape: shapes.Shape, dtype: DType, reuse: object, partitions: list[int] | None
    ) -> PartitionedVariable:
        whole = self.partitioned[name]
        if reuse is False:
            raise ValueError(
                f"partitioned variable {name!r} already exists; "
                "hint: reuse=True or reuse=tf.AUTO_REUSE of the scope shares it"
            )
        _require_same(f"reuse partitioned variable {name}", whole, shape, dtype)
        if partitions is not None and whole._get_partitions() != partitions:
            raise ValueError(
                f"Trying to reuse partitioned variable {name}, but specified partitions {partitions} "
                f"and found partitions {whole._get_partitions()}."
            )
        return whole

    def _share(self, name: str, shape: shapes.Shape, dtype: DType, reuse: object) -> Any:
        variable = self.variables[name]
        if reuse is False:
            raise ValueError(
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE "
                f"in VarScope? Originally defined at: {variable.op.made_at}"
            )
        _require_same(f"share variable {name}", variable, shape, dtype)
        return variable


def _require_same(what: str, variable: Variable | PartitionedVariable, shape: shapes.Shape, dtype: DType) -> None:
    if not variable.get_shape().is_compatible_with(shape):
        raise ValueError(
            f"Trying to {what}, but specified shape {shapes.TensorShape(shape)} and found shape {variable.get_shape()}."
        )
    if not dtype.is_compatible_with(variable.dtype):
        raise ValueError(f"Trying to {what}, but specified dtype {dtype.name} and found dtype {variable.dtype.name}.")


def _names(function: Callable[..., Any], argument: str) -> bool:
    """Returns whether a function has a parameter of this name."""
    return argument in inspect.signature(function).parameters


def _takes(function: Callable[..., Any], argument: str) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == argument or p.kind is p.VAR_KEYWORD for p in parameters)


def _initial_value(
    name: str,
    initializer: Any,
    shape: shapes.Shape,
    dtype: DType,
    partition_info: PartitionInfo | None,
) -> tuple[Any, DType | None]:
    """Returns the initial value, or a function that creates it, and the dtype of the variable."""
    if initializer is None:
        if shape is None:
            raise ValueError(f"Shape of a new variable ({name}) must be fully defined, but instead was <unknown>.")
        initializer = _default_initializer(name, dtype)
    if not callable(initializer):
        return initializer, None
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape is not None and shapes.is_fully_defined(shape):
        place = {"partition_info": partition_info} if _names(initializer, "partition_info") else {}
        return functools.partial(initializer, list(shape), dtype=dtype, **place), dtype
    parameters = inspect.signature(initializer).parameters.values()
    if all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return initializer, None
    raise ValueError(
        f"Shape of a new variable ({name}) must be fully defined, but instead was {shapes.TensorShape(shape)}. "
        "Without a shape the initializer must be a value or a callable with no arguments."
    )


def _default_initializer(name: str, dtype: DType) -> Any:
    if dtype.is_floating:
        return glorot_uniform_initializer()
    if dtype.is_integer or dtype.is_bool or dtype is dtypes.string:
        return zeros_initializer()
    raise ValueError(f"An initializer for variable {name} of {dtype} is required")


def _regularize(variable: Variable, name: str, regularizer: Callable[[Any], Any]) -> None:
    graph = variable._owner_graph
    with graph.colocate_with(variable), graph.name_scope(f"{name}/Regularizer/"), init_scope():
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
