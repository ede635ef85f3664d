"""Custom gradients: functions whose gradient replaces that of the operations they consist of."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.autodiff.registry import Gradient, RegisterGradient
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.identity import identity_n
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.graph.tensor import Tensor

_serial = itertools.count()


@export("custom_gradient", "contrib.eager.custom_gradient")
def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function `f(*tensors)` that returns (result, gradient function).

    The gradient function takes the gradients of the results and returns those of the arguments. If f uses variables,
    it also takes the list `variables=` and returns a pair: gradients of the arguments, gradients of the variables.

    Args:
        f: Function that returns (result, gradient function).
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        graph = get_default_graph()
        if graph.executes:
            return graph.call_with_gradient(f, args, kwargs)  # type: ignore[attr-defined]
        if kwargs:
            raise ValueError("functions decorated with @tf.custom_gradient take positional arguments only")
        return _call(f, args)

    return decorated


def _call(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    tensors = [convert_to_tensor(arg) for arg in args]
    graph = get_default_graph()
    if tensors and not graph.captures:
        graph = tensors[0].graph
    # What f adds is told by the length of the list: graphs only grow.
    before = len(graph.operations)
    result, grad_function = f(*tensors)
    results = [convert_to_tensor(value) for value in leaves_of(result)]
    variables = _variables_used(graph, graph.operations[before:], set(tensors))
    compute = gradient_rule(f, grad_function, len(tensors), variables)

    def rule(operation: Operation, *grads: Gradient | None) -> list[Any]:
        # The results are inputs of the IdentityN as well, and get no gradient: that is what cuts f out of the walk.
        return [None] * len(results) + compute(*grads[: len(results)])

    name = f"CustomGradient-{next(_serial)}"
    RegisterGradient(name)(rule)
    # One IdentityN takes results, arguments and variables, and its gradient is the user's function: the gradient of a
    # result ends here instead of flowing through the operations of f, and continues from the arguments and the
    # variables.
    with graph.gradient_override_map({"IdentityN": name}):
        outputs = identity_n([*results, *tensors, *[variable._handle for variable in variables]])
    return rebuilt(result, iter(outputs))


def gradient_rule(
    f: Callable[..., Any], grad_function: Callable[..., Any], count: int, variables: list[Any]
) -> Callable[..., list[Any]]:
    """Returns the function from the gradients of the results to those of `count` arguments and of the variables."""
    _require_keyword(grad_function, variables)
    name = getattr(f, "__name__", f)

    def rule(*grads: Gradient | None) -> list[Any]:
        if not variables:
            input_grads, variable_grads = grad_function(*grads), []
        else:
            input_grads, variable_grads = grad_function(*grads, variables=list(variables))
            variable_grads = leaves_of(variable_grads)
            if len(variable_grads) != len(variables):
                raise ValueError(
                    f"the custom gradient of {name!r} returns {len(variable_grads)} gradients "
                    f"for {len(variables)} variables"
                )
        input_grads = leaves_of(input_grads)
        if len(input_grads) != count:
            raise ValueError(
                f"the custom gradient of {name!r} returns {len(input_grads)} gradients for {count} arguments"
            )
        return input_grads + variable_grads

    return rule


def _variables_used(graph: Graph, operations: list[Operation], arguments: set[Tensor]) -> list[Any]:
    """Returns the trainable variables whose values the operations use, in the order of their first use."""
    keys = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES)
    # Variables that are in no collection are those of a function, which knows them by the tensors that captured them.
    by_handle = {v._handle: v for key in keys for v in graph.get_collection(key) if isinstance(_handle(v), Tensor)}
    if graph.captures:
        by_handle |= {graph.capture(v._handle): v for v in graph.variables.values()}  # type: ignore[attr-defined]
    inside = set(operations)
    used: dict[Any, None] = {}
    for operation in operations:
        for tensor in operation.inputs:
            # A variable may have been read before the function was called.
            is_read = tensor.op.type in ("ReadVariableOp", "Identity") and tensor.op not in inside
            source = tensor.op.inputs[0] if is_read else tensor
            variable = by_handle.get(source)
            if variable is not None and variable.trainable and tensor not in arguments:
                used.setdefault(variable)
    return list(used)


def _handle(variable: object) -> Any:
    return getattr(variable, "_handle", None)


def _require_keyword(grad_function: Callable[..., Any], variables: list[Any]) -> None:
    signature = inspect.signature(grad_function).parameters.values()
    takes = any(p.name == "variables" or p.kind is inspect.Parameter.VAR_KEYWORD for p in signature)
    if variables and not takes:
        raise TypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must accept a 'variables' "
            f"keyword argument; used here: {', '.join(v.name for v in variables)}"
        )


def leaves_of(structure: object) -> list[Any]:
    """Returns the leaves of nested lists, tuples and dictionaries."""
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in leaves_of(structure[key])]
    if isinstance(structure, list | tuple):
        return [leaf for item in structure for leaf in leaves_of(item)]
    return [structure]


def rebuilt(structure: object, leaves: Iterator[Any]) -> Any:
    """Returns the structure with new leaves."""
    if isinstance(structure, dict):
        # Leaves come in the order of sorted keys, as `leaves_of` gives them; the result has the order of the original.
        by_key = {key: rebuilt(structure[key], leaves) for key in sorted(structure)}
        return type(structure)((key, by_key[key]) for key in structure)
    if isinstance(structure, list | tuple):
        items = [rebuilt(item, leaves) for item in structure]
        return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)
    return next(leaves)
