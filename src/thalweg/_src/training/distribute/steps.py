"""Several training steps in one step of a session: a loop over the elements of a distributed iterator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.control_flow.while_loop import while_loop
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.nest import flatten, pack_sequence_as
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.distribute.reduce_op import ReduceOp
from thalweg._src.training.distribute.values import local_values
from thalweg._src.training.variables.distribution import current_mode


class MultiStepContext:
    """What the function of a loop hands out: the outputs of its last step, and values that are no tensors.

    run_op: the operation that runs all steps
    """

    last_step_outputs = ReadOnly[dict[str, Any]]("The outputs of the last step by name.")
    non_tensor_outputs = ReadOnly[dict[str, Any]]("The values that are no tensors, by name.")
    run_op: Operation

    def __init__(self) -> None:
        self._last_step_outputs: dict[str, Any] = {}
        self._non_tensor_outputs: dict[str, Any] = {}

    def set_last_step_output(self, name: str, output: object, reduce_op: ReduceOp | None = None) -> None:
        """Keeps an output of the last step, reduced over replicas or as one value per replica."""
        mode = current_mode()
        if mode is not None and mode.replica is not None:

            def merge(strategy: Any, value: Any) -> None:
                self.set_last_step_output(name, value, reduce_op)

            mode.replica.merge_call(merge, args=(output,))
        elif reduce_op is None or mode is None:
            self._last_step_outputs[name] = output
        else:
            self._last_step_outputs[name] = mode.strategy.reduce(reduce_op, output)

    def set_non_tensor_output(self, name: str, output: object) -> None:
        """Keeps a value that is no tensor."""
        self._non_tensor_outputs[name] = output


def run_steps(
    fn: Callable[..., Any], iterator: Any, iterations: TensorLike, initial_loop_values: Any
) -> MultiStepContext:
    """Returns the context of a loop that calls `fn(context, inputs)` for several elements of an iterator."""
    context = MultiStepContext()
    initial = {} if initial_loop_values is None else initial_loop_values
    starts = [convert_to_tensor(value) for value in flatten(initial)]
    structure: dict[str, Any] = {}

    def body(step: Tensor, *_: Any) -> list[Any]:
        result = fn(context, iterator.get_next())
        structure.update(context.last_step_outputs)
        outputs = [value for leaf in flatten(structure) for value in local_values(leaf)]
        if len(outputs) != len(starts):
            raise ValueError(
                f"initial_loop_values: expected {len(outputs)} values, one for each output of a step, "
                f"received {len(starts)}"
            )
        done = [value for leaf in flatten(result) if leaf is not None for value in local_values(leaf)]
        with control_dependencies([*done, *outputs]):
            return [step + 1, *[identity(value) for value in outputs]]

    count = convert_to_tensor(iterations, dtypes.int32)
    start = [convert_to_tensor(0), *starts]
    last, *values = while_loop(
        lambda step, *_: step < count, body, start, parallel_iterations=1, return_same_structure=True
    )
    context.run_op = group(last, *values)
    for name, output in structure.items():
        leaves = flatten(output)
        taken = [_like(leaf, [values.pop(0) for _ in local_values(leaf)]) for leaf in leaves]
        context._last_step_outputs[name] = pack_sequence_as(output, taken)
    return context


def _like(leaf: Any, values: list[Any]) -> Any:
    return type(leaf)(values) if len(values) > 1 else values[0]
