"""Conversion between variables and VariableDef messages, for saving and restoring graphs."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.references import VARIABLES
from thalweg._src.training.variables.partitions import SaveSliceInfo
from thalweg._src.training.variables.replication import VariableAggregation, VariableSynchronization


def _message() -> Any:
    from tensorboard.compat.proto.variable_pb2 import VariableDef

    return VariableDef


def _without(scope: str | None, name: str) -> str:
    return name.removeprefix(f"{scope.rstrip('/')}/") if scope else name


def _within(scope: str | None, name: str) -> str:
    return f"{scope.rstrip('/')}/{name}" if scope else name


def _snapshot(variable: Any) -> Any:
    return variable._graph_element if variable._cached is None else variable._cached


def variable_to_proto(variable: Any, export_scope: str | None = None) -> Any:
    """Returns a variable as a VariableDef, with the names of its operations; None if it is outside the scope."""
    if export_scope and not variable.name.startswith(f"{export_scope.rstrip('/')}/"):
        return None
    message = _message()(
        variable_name=_without(export_scope, variable.name),
        initializer_name=_without(export_scope, variable.initializer.name),
        initial_value_name=_without(export_scope, variable.initial_value.name),
        snapshot_name=_without(export_scope, _snapshot(variable).name),
        is_resource=variable.op.type == "VarHandleOp",
        trainable=bool(variable.trainable),
        synchronization=variable.synchronization.value,
        aggregation=variable.aggregation.value,
    )
    info = variable._get_save_slice_info()
    if info is not None:
        slice_def = message.save_slice_info_def
        slice_def.full_name = _without(export_scope, info.full_name)
        for field in ("full_shape", "var_offset", "var_shape"):
            getattr(slice_def, field).extend(getattr(info, field))
    return message


def restore(variable: Any, message: Any, import_scope: str | None, graph: Graph) -> None:
    """Initializes a new, empty variable object from a VariableDef."""
    if getattr(getattr(message, "DESCRIPTOR", None), "name", "") != "VariableDef":
        raise TypeError(f"variable_def: expected a VariableDef message, received {type(message).__name__}")

    def element(name: str) -> Any:
        return graph.as_graph_element(_within(import_scope, name))

    handle = element(message.variable_name)
    if handle.op.type not in ("VarHandleOp", *VARIABLES):
        raise ValueError(
            f"{handle.name!r} is not a variable: expected a VariableV2 or a VarHandleOp, received {handle.op.type}"
        )
    is_ref = handle.op.type in VARIABLES
    variable._handle = handle
    variable._dtype = handle.dtype if is_ref else handle.op.get_attr("dtype")
    variable.dims = handle.op.attrs["shape"]
    variable._initializer = element(message.initializer_name)
    if message.initial_value_name:
        variable._initial_value = element(message.initial_value_name)
    else:
        variable._initial_value = variable._initializer.inputs[1]
    snapshot = element(message.snapshot_name)
    variable._cached = None if snapshot.op.type == "ReadVariableOp" else snapshot
    variable._graph_element = handle if is_ref else snapshot
    variable._trainable = message.trainable
    variable._synchronization = VariableSynchronization(message.synchronization)
    variable._aggregation = VariableAggregation(message.aggregation)
    variable._constraint = None
    variable._save_slice_info = None
    if message.HasField("save_slice_info_def"):
        slice_def = message.save_slice_info_def
        variable._save_slice_info = SaveSliceInfo(
            _within(import_scope, slice_def.full_name), slice_def.full_shape, slice_def.var_offset, slice_def.var_shape
        )
