"""Operation construction: from an OpDef and the caller's arguments to an operation in the graph."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base.dtypes import DType, as_dtype, native_name
from thalweg._src.base.errors import invalid
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.names import as_name
from thalweg._src.graph.op_def import ArgDef, OpDef, mismatch, normalize, output_types
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor


def apply(definition: OpDef, args: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
    """Converts the inputs, infers the attributes that they imply, adds the operation and returns its outputs."""
    # A variable of TensorFlow 1 is a reference, and ops on references have names of their own (Assign, not
    # AssignVariableOp). The first input, which is the variable, selects between the two.
    if definition.on_refs is not None and args and type(args[0]) is Tensor and args[0].dtype._is_ref_dtype:
        return apply(definition.on_refs, args, attrs, name)
    # Most calls pass all inputs by position and nothing else; only the others pay for sorting their arguments.
    if len(args) == len(definition.inputs) and not attrs:
        values = args
    else:
        values, name = _arrange(definition, args, attrs, name)
    graph = _graph_of(values)
    # The attributes as far as they are certain. Those that inputs imply (T, N) come first if the caller passes them,
    # since they decide what the inputs are converted to; otherwise the first input of each type decides, see
    # `_convert_input`.
    resolved: dict[str, Any] = {}
    if attrs:
        for key in definition.implied:
            if key in attrs:
                resolved[key] = normalize(definition, key, definition.attrs[key], attrs[key])
    inputs: list[Tensor] = []
    # A name scope is entered only if some input is not a tensor yet. Constants made from Python values are then named
    # after the operation, `add/y`, as in TensorFlow's graphs; tensors alone pay nothing for it.
    for value in values:
        if type(value) is not Tensor:
            if definition.keeps_places and isinstance(value, SparseTensor):
                return value.with_values(apply(definition, [value.values], attrs, name))
            scope = as_name(name) if name else definition.name.lstrip("_")
            with graph.as_default(), graph.name_scope(_argument_scope(graph, scope)):
                _convert_inputs(definition, values, resolved, inputs)
            break
    else:
        _convert_inputs(definition, values, resolved, inputs)
    for key in definition.explicit:
        if key in definition.defaults and attrs.get(key) is None:  # None selects the default
            resolved[key] = definition.defaults[key]
        elif key in attrs:
            resolved[key] = normalize(definition, key, definition.attrs[key], attrs[key])
        else:
            raise TypeError(f"{definition.name} is missing its attribute {key!r}")
    types = output_types(definition, resolved)
    # An op that writes through a reference must run where the variable's memory is.
    if definition.takes_refs:
        with contextlib.ExitStack() as stack:
            for tensor in inputs:
                if tensor.dtype._is_ref_dtype:
                    stack.enter_context(graph.colocate_with(tensor.op))
            operation = graph.add(definition, inputs, resolved, types, name)
    else:
        operation = graph.add(definition, inputs, resolved, types, name)
    if definition.single_output:
        return operation.outputs[0]
    return _result(definition, operation)


def _argument_scope(graph: Graph, name: str) -> str:
    """Returns the name scope of constants created for an operation's arguments: the operation's own name."""
    return name if name.endswith("/") else graph.unique_name(name, mark_as_used=False) + "/"


def _arrange(
    definition: OpDef, args: Sequence[Any], attrs: dict[str, Any], name: str | None
) -> tuple[list[Any], str | None]:
    """Returns the inputs in order and the name; takes keyword inputs out of `attrs`, adds surplus arguments to it."""
    count = len(definition.inputs)
    values, surplus = list(args[:count]), list(args[count:])
    if len(surplus) > len(definition.explicit) and name is None and isinstance(surplus[-1], str | None):
        name = surplus.pop()
    if len(surplus) > len(definition.explicit):
        raise TypeError(f"{definition.name} takes {count + len(definition.explicit)} arguments, {len(args)} were given")
    attrs.update(zip(definition.explicit, surplus))
    # Whatever is left of the keywords after this loop is an attribute, or an error.
    for arg in definition.inputs[len(values) :]:
        if arg.name not in attrs:
            raise TypeError(f"{definition.name} is missing its input {arg.name!r}")
        values.append(attrs.pop(arg.name))
    for key in attrs:
        if key not in definition.attrs:
            accepted = ", ".join([arg.name for arg in definition.inputs] + list(definition.attrs))
            raise TypeError(f"{definition.name} has no argument {key!r}; it has {accepted}, name")
    return values, name


def _graph_of(values: Sequence[Any]) -> Graph:
    """Returns the one graph of the inputs, or the default graph if there are no tensors."""
    graph: Graph | None = None
    default = get_default_graph()
    # The body of a function captures what it uses of outer graphs, so that operations in it may mix tensors of several.
    if default.captures:
        return default
    for value in values:
        if type(value) is Tensor:
            if graph is None:
                graph = value.op.graph
            elif value.op.graph is not graph:
                raise _other_graph(value, values)
        elif isinstance(value, list | tuple):
            for element in value:
                if type(element) is Tensor:
                    if graph is None:
                        graph = element.op.graph
                    elif element.op.graph is not graph:
                        raise _other_graph(element, values)
    if graph is None:
        return default
    if default.executes and graph.captures and not graph.is_symbolic:
        raise TypeError(
            'An op outside of the function building code is being passed a "Graph" tensor, which has a value only '
            f"while its function runs: {_first_symbolic(values)}; return it from the function"
        )
    return graph


def _other_graph(tensor: Tensor, values: Sequence[Any]) -> ValueError:
    """Returns the error of a tensor whose graph is not that of the first tensor among the inputs."""
    return ValueError(f"{tensor} must be from the same graph as {_first_symbolic(values)}.")


def _first_symbolic(values: Sequence[Any]) -> Tensor:
    flat = (element for value in values for element in (value if isinstance(value, list | tuple) else [value]))
    return next(element for element in flat if type(element) is Tensor)


def _convert_inputs(definition: OpDef, values: Sequence[Any], attrs: dict[str, Any], inputs: list[Tensor]) -> None:
    for position, (arg, value) in enumerate(zip(definition.inputs, values)):
        if arg.number_attr is not None:
            inputs += _convert_list(definition, arg, value, attrs, values, position)
        elif arg.type_list_attr is not None:
            inputs += _convert_typed_list(definition, arg, value, attrs)
        else:
            inputs.append(_convert_input(definition, arg, value, attrs, values, position))


def _convert_input(
    definition: OpDef, arg: ArgDef, value: Any, attrs: dict[str, Any], values: Sequence[Any], position: int
) -> Tensor:
    expected: DType | None = arg.dtype if arg.type_attr is None else attrs.get(arg.type_attr)
    if type(value) is Tensor:
        tensor = value
    elif arg.is_ref and hasattr(value, "_ref"):
        tensor = value._ref()
    elif expected is not None:
        tensor = _convert_to(definition, arg, value, expected)
    else:
        tensor = _convert_untyped(definition, arg, value, values, position)
    # This input is the first one of its type attribute: its type holds for all that follow.
    if expected is None:
        assert arg.type_attr is not None
        _admit_type(definition, arg, tensor.dtype)
        attrs[arg.type_attr] = tensor.dtype.base_dtype
    elif tensor.dtype is not expected and tensor.dtype.base_dtype != expected.base_dtype:
        raise TypeError(mismatch(definition, arg, tensor, expected))
    if arg.is_ref and not tensor.dtype._is_ref_dtype:
        raise TypeError(
            f"{definition.name!r} Op requires that input {arg.name!r} be a mutable tensor (e.g.: a tf.Variable), "
            f"received {tensor}"
        )
    return tensor


def _convert_to(definition: OpDef, arg: ArgDef, value: object, expected: DType) -> Tensor:
    try:
        return convert_to_tensor(value, expected, name=arg.name)
    except (TypeError, ValueError) as error:
        if isinstance(value, Tensor) and value.is_eager:
            raise invalid(
                f"cannot compute {definition.name} as input #{definition.inputs.index(arg)}(zero-based) was expected "
                f"to be a {native_name(expected)} tensor but is a {native_name(value.dtype)} tensor "
                f"[Op:{definition.name}]"
            ) from None
        raise TypeError(
            f"Input {arg.name!r} of {definition.name!r} Op expects {expected.name}, "
            f"to which {value!r} of type {type(value).__name__} cannot be converted: {error}"
        ) from None


def _convert_untyped(definition: OpDef, arg: ArgDef, value: Any, values: Sequence[Any], position: int) -> Tensor:
    """Converts a value of undetermined dtype: by a tensor among later inputs, by the default, by the value itself."""
    # In `1.0 - x` the number takes the type of the tensor that follows, instead of becoming float32 and clashing with
    # it.
    for other, candidate in zip(definition.inputs[position + 1 :], values[position + 1 :]):
        if other.type_attr == arg.type_attr and not other.is_list and hasattr(candidate, "dtype"):
            try:
                return convert_to_tensor(value, as_dtype(candidate.dtype).base_dtype, name=arg.name)
            except (TypeError, ValueError):
                break
    assert arg.type_attr is not None
    attr = definition.attrs[arg.type_attr]
    if isinstance(value, np.ndarray | np.generic) and (attr.allowed is None or as_dtype(value.dtype) in attr.allowed):
        return convert_to_tensor(value, name=arg.name)  # an array's own dtype takes precedence over the default
    preferred = attr.default if isinstance(attr.default, DType) else None
    return convert_to_tensor(value, name=arg.name, preferred_dtype=preferred)


def _convert_list(
    definition: OpDef, arg: ArgDef, value: Any, attrs: dict[str, Any], values: Sequence[Any], position: int
) -> list[Tensor]:
    if isinstance(value, Tensor) or not isinstance(value, list | tuple):
        raise TypeError(f"Expected list for {arg.name!r} argument to {definition.name!r} Op, not {value!r}.")
    # In a list of tensors and Python numbers the first tensor decides the type, wherever it stands.
    if arg.type_attr is not None and arg.type_attr not in attrs:
        for item in value:
            if hasattr(item, "dtype"):
                attrs[arg.type_attr] = convert_to_tensor(item, name=arg.name).dtype.base_dtype
                _admit_type(definition, arg, attrs[arg.type_attr])
                break
    try:
        tensors = [_convert_input(definition, arg, item, attrs, values, position) for item in value]
    except TypeError:
        # The error would name the first element that does not fit; the types of all elements show which one is the odd
        # one.
        types = [item.dtype.name for item in value if isinstance(item, Tensor)]
        if len(set(types)) > 1:
            shown = f"[{', '.join(types)}] that don't all match"
            raise TypeError(
                f"Tensors in list passed to {arg.name!r} of {definition.name!r} Op have types {shown}."
            ) from None
        raise
    number = arg.number_attr
    assert number is not None
    if number in attrs and attrs[number] != len(tensors):
        raise ValueError(
            f"{definition.name}: list {arg.name!r} has {len(tensors)} entries, another has {attrs[number]}."
        )
    minimum = definition.attrs[number].minimum or 0
    if len(tensors) < minimum:
        raise ValueError(
            f"{definition.name}: list {arg.name!r} requires at least {minimum} entries, got {len(tensors)}."
        )
    attrs[number] = len(tensors)
    return tensors


def _convert_typed_list(definition: OpDef, arg: ArgDef, value: Any, attrs: dict[str, Any]) -> list[Tensor]:
    key = arg.type_list_attr
    assert key is not None
    if isinstance(value, Tensor) or not isinstance(value, list | tuple):
        raise TypeError(f"Expected list for {arg.name!r} argument to {definition.name!r} Op, not {value!r}.")
    expected = attrs.get(key)
    if expected is not None and len(expected) != len(value):
        raise TypeError(f"{definition.name}: {arg.name!r} requires {len(expected)} values, got {len(value)}.")
    tensors = [
        convert_to_tensor(item, None if expected is None else expected[i], name=f"{arg.name}_{i}")
        for i, item in enumerate(value)
    ]
    attrs[key] = normalize(definition, key, definition.attrs[key], [tensor.dtype.base_dtype for tensor in tensors])
    return tensors


def _admit_type(definition: OpDef, arg: ArgDef, dtype: DType) -> None:
    assert arg.type_attr is not None
    attr = definition.attrs[arg.type_attr]
    if attr.allowed is not None and dtype.base_dtype not in attr.allowed:
        raise TypeError(
            f"Value passed to parameter {arg.name!r} has DataType {dtype.name} not in list of allowed values: "
            f"{attr.show_allowed()} (op: {definition.name!r})"
        )


def _result(definition: OpDef, operation: Operation) -> Any:
    if definition.result is None and definition.plain_outputs and not operation.outputs:
        return None if operation.graph.executes else operation
    return results_of(definition, operation.attrs, operation.outputs)


def results_of(definition: OpDef, attrs: dict[str, Any], outputs: Sequence[Tensor]) -> Any:
    """Returns the outputs of an operation as its callers get them: a tensor, a list, or a named tuple."""
    if definition.result is None and definition.plain_outputs:
        return outputs[0] if outputs else None
    results: list[Any] = []
    start = 0
    for arg in definition.outputs:
        if not arg.is_list:
            results.append(outputs[start])
            start += 1
            continue
        length = attrs[arg.number_attr] if arg.number_attr is not None else len(attrs[arg.type_list_attr or ""])
        results.append(list(outputs[start : start + length]))
        start += length
    if definition.result is None:
        return results[0]
    return definition.result(*results)


OpDef.apply = apply
