"""Gradients of what has run: the walk backward over the operations that a tape has recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.graph.autodiff.gradients import aggregate, rule_of
from thalweg._src.graph.autodiff.registry import as_list
from thalweg._src.graph.ops.reshape import zeros_like
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.eager.compiled_backprop import compiled_gradients
from thalweg._src.runtime.eager.operation import EagerOperation
from thalweg._src.runtime.eager.tape import Call, operations_between
from thalweg._src.runtime.eager.tensor import EagerTensor


def backpropagate(
    calls: Sequence[Call], targets: Sequence[tuple[EagerTensor, Any]], sources: Sequence[EagerTensor]
) -> list[Any]:
    """Returns the gradients of the sources, None where no target depends on one.

    targets: tensors, each with its own gradient
    """
    grads = compiled_gradients.run(calls, targets, sources, _walk)
    return _walk(calls, targets, sources) if grads is None else grads


def _walk(calls: Sequence[Call], targets: Sequence[tuple[Any, Any]], sources: Sequence[Any]) -> list[Any]:
    """Calls the gradient functions of operations, from the last one to the first one."""
    between, reached = operations_between(calls, sources)
    source_set = set(sources)
    partials: dict[Any, list[Any]] = {}
    for target, grad in targets:
        if target in reached:
            partials.setdefault(target, []).append(grad)
    for operation in reversed(between):
        grads = [_gradient(partials, output, output in source_set) for output in operation.outputs]
        for grad in grads:
            if grad is not None:
                _visit(operation, grads, reached, partials)
                break
    return [_gradient(partials, source, True) for source in sources]


def _gradient(partials: dict[EagerTensor, list[Any]], tensor: EagerTensor, keep: bool) -> Any:
    """Returns the sum of a tensor's partial gradients, None if there are none."""
    terms = partials.get(tensor) if keep else partials.pop(tensor, None)
    if terms is None:
        return None
    if len(terms) > 1:
        terms[:] = [aggregate(terms)]
    return terms[0]


def _visit(
    operation: EagerOperation, grads: list[Any], reached: set[EagerTensor], partials: dict[EagerTensor, list[Any]]
) -> None:
    """Adds the gradients of an operation's inputs."""
    rule = operation.rule or rule_of(operation)  # type: ignore[arg-type]
    if rule is None:
        return
    if len(grads) > 1 and operation.rule is None:
        for index, tensor in enumerate(operation.outputs):
            if grads[index] is None and _has_zeros(tensor):
                grads[index] = zeros_like(tensor)
                grads[index].is_filler = True
    result = as_list(rule(operation, *grads), len(operation.inputs))
    if len(result) != len(operation.inputs):
        raise ValueError(
            f"Num gradients {len(result)} generated for op {operation.type} "
            f"do not match num inputs {len(operation.inputs)}"
        )
    for tensor, grad in zip(operation.inputs, result):
        if grad is not None and tensor in reached:
            if callable(grad):
                grad = grad()
            partials.setdefault(tensor, []).append(grad)


def _has_zeros(tensor: Tensor) -> bool:
    """Returns whether a tensor without a gradient has zeros instead: of handles there are none."""
    return tensor.dtype.is_floating or tensor.dtype.is_complex
