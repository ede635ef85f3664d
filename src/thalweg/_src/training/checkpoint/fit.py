"""Compatibility of a checkpoint with a model: one error lists missing, extra and mismatched tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from thalweg._src.base import errors, shapes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.formats.table_checkpoint import open_checkpoint
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.checkpoint.saver_builder import SaveableObject

_SHOWN = 40
Target = tuple[str, str, Any, Shape]  # name, slice, dtype and shape in the model


def require_fit(targets: Sequence[Target], prefix: str) -> None:
    """Raises unless a checkpoint holds the tensors that a model restores."""
    with open_checkpoint(prefix) as reader:
        missing = [name for name, _, _, _ in targets if name not in reader]
        different = [text for target in targets if target[0] in reader and (text := _difference(reader, *target))]
        if not missing and not different:
            return
        names_in_model = {name for name, _, _, _ in targets}
        extra = [name for name in reader.names() if name not in names_in_model]
    lines = ["Restoring from checkpoint failed."]
    if missing:
        lines[0] += f" Key {missing[0]} not found in checkpoint"
    else:
        lines[0] += f" Assign requires shapes of both tensors to match. {different[0]}"
    lines.append(f"  the checkpoint {prefix} does not fit the model")
    for what, names in (
        ("missing in the checkpoint", missing),
        ("only in the checkpoint", extra),
        ("of a different shape or type", different),
    ):
        if names:
            lines.append(f"  {what} ({len(names)}): {_listed(names)}")
    lines.append(
        "  hint: tf.train.Saver(var_list={name in the checkpoint: variable}) renames tensors, or restores some of them"
    )
    error_class = errors.NotFoundError if missing else errors.InvalidArgumentError
    raise error_class(None, None, "\n".join(lines))


def _listed(names: list[str]) -> str:
    more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(sorted(names)[:_SHOWN]) + more


def _difference(reader: Any, name: str, spec: str, dtype: DType, shape: Shape) -> str | None:
    entry = reader.entry(name)
    if entry.dtype is not dtype:
        return f"{name}: {dtype.name} in the model, {entry.dtype.name} in the checkpoint"
    try:
        shape_in_checkpoint: Shape = reader.shape(name, spec)
    except errors.InvalidArgumentError:
        *sizes, _ = spec.split(" ")
        return f"{name}: part of [{', '.join(sizes)}] in the model, {list(entry.shape)} in the checkpoint"
    if shapes.compatible(shape_in_checkpoint, shape):
        return None
    return f"{name}: {show(shape)} in the model, {show(shape_in_checkpoint)} in the checkpoint"


def targets_of_saveables(saveables: Iterable[SaveableObject], reshape: bool = False) -> list[Target]:
    """Returns the tensors that saveable objects restore."""
    return [
        (spec.name, spec.slice_spec, spec.dtype.base_dtype, None if reshape else getattr(saveable.op, "dims", None))
        for saveable in saveables
        for spec in saveable.specs
    ]


def targets_of_operation(graph: Graph, restore_op_name: str) -> list[Target]:
    """Returns the tensors that an operation restores."""
    return list(_targets(graph.get_operation_by_name(restore_op_name)))


def _targets(restore: Operation) -> Iterator[Target]:
    """Yields the tensors that the operations behind a restore read from a checkpoint, as far as they are static."""
    seen: set[Operation] = set()
    stack = [restore]
    while stack:
        operation = stack.pop()
        if operation in seen:
            continue
        seen.add(operation)
        stack += [tensor.op for tensor in operation.inputs]
        stack += operation.control_inputs
        if operation.type == "RestoreV2":
            names, specs = (_texts(operation.inputs[i].op) for i in (1, 2))
            if names is None or specs is None:
                continue
            for output, name, spec in zip(operation.outputs, names, specs):
                yield name, spec, output.dtype, _target_shape(output)


def _texts(constant: Operation) -> list[str] | None:
    if constant.type != "Const":
        return None
    return [value.decode("utf-8", "surrogateescape") for value in constant.attrs["value"].ravel().tolist()]


def _target_shape(output: Tensor) -> Shape:
    """Returns the shape of the variable that a restored tensor is assigned to; unknown if it is reshaped first."""
    for consumer in output.consumers():
        if consumer.type == "Identity":
            return _target_shape(consumer.outputs[0])
        if consumer.type in ("Assign", "AssignVariableOp"):
            return consumer.inputs[0].op.attrs.get("shape")
    return None
