"""Custom gradients in eager execution: a call is recorded as one operation with a gradient function of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.graph.autodiff.custom_gradient import gradient_rule, leaves_of, rebuilt
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.identity import identity_n_op
from thalweg._src.graph.ops.reshape import zeros_like
from thalweg._src.runtime.eager.operation import EagerOperation
from thalweg._src.runtime.eager.tape import VariableWatcher, record
from thalweg._src.runtime.eager.tensor import EagerTensor


def call_with_gradient(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Returns the results of a function that returns its gradient function as well.

    The operations of the function are recorded too, since the gradient function may use their outputs, and may be
    differentiated itself.
    """
    with VariableWatcher() as watcher:
        result, grad_function = f(*args, **kwargs)
    argument_ids = {id(value) for value in (*args, *kwargs.values())}
    variables = [variable for key, variable in watcher.variables.items() if key not in argument_ids]
    compute = gradient_rule(f, grad_function, len(args), variables)
    inputs = [*map(convert_to_tensor, args), *(variable._handle for variable in variables)]
    tensors = [convert_to_tensor(value) for value in leaves_of(result)]
    outputs = [EagerTensor(tensor.value, tensor.kind) for tensor in tensors]  # type: ignore[attr-defined]

    def rule(operation: EagerOperation, *grads: Any) -> list[Any]:
        return compute(*[zeros_like(output) if grad is None else grad for output, grad in zip(outputs, grads)])

    operation = EagerOperation(identity_n_op, {}, inputs, outputs)
    operation.rule = rule
    record(operation)
    return rebuilt(result, iter(outputs))
