"""Operations between layers: what a program computes from outputs of layers becomes layers of a model too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from thalweg._src.base.hook import Hook
from thalweg._src.graph import nest
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.engine.node import has_history
from thalweg._src.training.nn.rnn.sizes import NestedTensors

_CHECKED = "_keras_history_checked"  # tensors that do not depend on layers


class LayerMaker:
    """Makes layers of operations, by a module that needs the base class of layers, which needs this one."""

    make: ClassVar[Hook[Callable[[Operation], None]]]


def with_history(inputs: NestedTensors) -> Any:
    """Returns inputs of a layer, after making layers of the operations between them and outputs of other layers."""
    tensors = [t for t in nest.flatten(inputs) if isinstance(t, Tensor) and not t.is_eager and not has_history(t)]
    if not tensors or not _depend_on_layers(tensors):
        return inputs
    for tensor in tensors:
        _make_history(tensor)
    return inputs


def _depend_on_layers(tensors: list[Any]) -> bool:
    """Returns whether tensors depend on outputs of layers; each tensor of a graph is visited once."""
    stack, seen = list(tensors), []
    while stack:
        tensor = stack.pop()
        if has_history(tensor):
            return True
        if not tensor.__dict__.get(_CHECKED):
            tensor.__dict__[_CHECKED] = True
            seen.append(tensor)
            stack += tensor.op.inputs
    return False


def _make_history(tensor: Tensor) -> None:
    """Makes layers of the operations from which a tensor is computed, those that it depends on first."""
    stack: list[tuple[Operation, bool]] = [(tensor.op, False)]
    done: set[Operation] = set()
    while stack:
        operation, is_ready = stack.pop()
        if operation in done:
            continue
        if is_ready:
            done.add(operation)
            if any(map(has_history, operation.inputs)):
                LayerMaker.make(operation)
        else:
            stack.append((operation, True))
            stack += [(operand.op, False) for operand in operation.inputs if not has_history(operand)]
