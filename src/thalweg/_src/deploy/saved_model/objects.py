"""SavedModels of objects: an object with its parts and variables, and functions of it as signatures.

The folder has what TensorFlow 2 writes: the graph of objects, whose variables are an object-based checkpoint, and a
graph with the signatures, which TensorFlow 1 and servers load.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.formats import durable
from thalweg._src.base.formats.text import PathLike
from thalweg._src.deploy.saved_model.files import (
    SERVING,
    folder_of,
    new_saved_model,
    variables_prefix,
    write_saved_model,
)
from thalweg._src.deploy.saved_model.signatures import DEFAULT_SERVING_SIGNATURE_DEF_KEY, predict_signature_def
from thalweg._src.deploy.saved_model.structures import NamedSpec, argument_spec, structured_value
from thalweg._src.graph import nest
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.functional import partitioned_call_op, stateful_partitioned_call_op
from thalweg._src.graph.ops.reshape import zeros
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.tensor_proto import shape_proto
from thalweg._src.runtime.function.concrete import ConcreteFunction, Spec, trace
from thalweg._src.runtime.function.function import Function
from thalweg._src.training.checkpoint.object_checkpoint import Checkpoint, session_for
from thalweg._src.training.checkpoint.object_graph import described, slots_in, walk
from thalweg._src.training.checkpoint.saver import Saver
from thalweg._src.training.checkpoint.trackable import children_of
from thalweg._src.training.variables.resource_variable import ResourceVariable
from thalweg._src.training.variables.variables import Variable

# -- kinds of objects -------------------------------------------------------------------------------------------------


@functools.singledispatch
def describe(value: Any, node: Any) -> None:
    """Says what kind an object has, in its node of the graph of objects."""
    as_user_object(node, "_generic_user_object")


def as_user_object(node: Any, identifier: str, metadata: str = "", producer: int = 1) -> None:
    """Makes a node an object of a class, which readers know by an identifier."""
    node.user_object.identifier = identifier
    node.user_object.metadata = metadata
    node.user_object.version.producer, node.user_object.version.min_consumer = producer, 1


@describe.register(list)
@describe.register(tuple)
def _list(value: Any, node: Any) -> None:
    as_user_object(node, "trackable_list_wrapper")


@describe.register(dict)
def _dictionary(value: Any, node: Any) -> None:
    as_user_object(node, "trackable_dict_wrapper")


@describe.register(Variable)
def _variable(value: Any, node: Any) -> None:
    node.variable.dtype = value.dtype.base_dtype.as_datatype_enum
    node.variable.shape.CopyFrom(shape_proto(value.dims))
    node.variable.trainable = value.trainable
    node.variable.name = value._shared_name


# -- functions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SavedFunction:
    """A method of the object: what it is called, its parameters, and its traces with the arguments of each."""

    name: str
    parameters: list[str]
    defaults: tuple[Any, ...]
    traces: list[tuple[Any, ConcreteFunction]]


def traced(python_function: Any, name: str, structure: Any) -> ConcreteFunction:
    """Returns the trace of a function of (args, kwargs), whose tensors are given as NamedSpecs."""
    leaves = [
        Spec(leaf.dtype, leaf.shape, leaf.name) if isinstance(leaf, NamedSpec) else leaf for leaf in _leaves(structure)
    ]
    return trace(python_function, name, _packable(structure), leaves, get_default_graph())


def _leaves(structure: Any) -> list[Any]:
    """Returns the leaves of a structure, in which a NamedSpec is one leaf although it is a tuple."""
    if isinstance(structure, NamedSpec):
        return [structure]
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in _leaves(structure[key])]
    if isinstance(structure, list | tuple):
        return [leaf for item in structure for leaf in _leaves(item)]
    return [structure]


def _packable(structure: Any) -> Any:
    """Returns a structure with None for each leaf."""
    if isinstance(structure, dict):
        return {key: _packable(item) for key, item in structure.items()}
    if isinstance(structure, list | tuple) and not isinstance(structure, NamedSpec):
        return type(structure)(_packable(item) for item in structure)
    return None


def _specs(structure: Any) -> Any:
    """Returns the types and shapes of tensors in their structure."""
    return nest.map_structure(
        lambda tensor: None if tensor is None else NamedSpec("", tensor.dtype, tensor.dims), structure
    )


def signature_functions(signatures: Any) -> dict[str, ConcreteFunction]:
    """Returns signatures as functions from named tensors to named tensors."""
    if signatures is None:
        return {}
    if not isinstance(signatures, Mapping):
        signatures = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures}
    return {key: _signature_function(key, value) for key, value in signatures.items()}


def _signature_function(key: str, signature: Any) -> ConcreteFunction:
    if isinstance(signature, Function):
        if signature.input_signature is None:
            raise ValueError(
                f"signature {key!r}: the function has no input_signature; give one, or pass "
                "`function.get_concrete_function(...)`"
            )
        signature = signature.get_concrete_function()
    if not isinstance(signature, ConcreteFunction):
        raise ValueError(f"signature {key!r}: expected a tf.function or a trace of one, received {signature!r}")
    names = [argument.op.name for argument in signature._arguments]
    specs = {
        name: NamedSpec(name, argument.dtype, argument.dims)
        for name, argument in zip(names, signature._arguments, strict=True)
    }
    concrete = signature

    def call(**arguments: Any) -> Any:
        return named_outputs(concrete.call_flat([arguments[name] for name in names]))

    return traced(call, f"signature_wrapper_{key}", ((), specs))


def named_outputs(outputs: Any) -> dict[str, Any]:
    """Returns the results of a function under names."""
    if isinstance(outputs, Mapping):
        return {str(key): value for key, value in outputs.items()}
    return {f"output_{index}": value for index, value in enumerate(nest.flatten(outputs))}


# -- writing ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Writer:
    """What is written: the objects by number, and the graph with their variables and functions.

    twins: the variables of the graph, by the identity of those of the program
    bound: the nodes and the tensors of the graph that stand for tensors which functions use
    """

    graph: Graph
    message: Any
    objects: list[Any]
    twins: dict[int, Any] = field(default_factory=dict)
    bound: dict[Tensor, tuple[int, Tensor]] = field(default_factory=dict)

    def add_variables(self) -> None:
        """Adds the variables of the objects to the graph, with what restores them."""
        for number, value in enumerate(self.objects):
            if not isinstance(value, Variable):
                continue
            make = functools.partial(zeros, value.dims, dtype=value.dtype.base_dtype)
            twin = ResourceVariable(make, name=value._shared_name, trainable=value.trainable)
            self.twins[number] = twin
            for copy in getattr(value, "_values", (value,)):
                self.bound[copy._handle] = number, twin._handle

    def node(self, tensor: Tensor) -> tuple[int, Tensor]:
        """Returns what stands for a tensor that a function uses: a variable, or a constant that is added."""
        if tensor not in self.bound:
            if tensor.dtype is dtypes.resource or not tensor.is_eager:
                raise ValueError(
                    f"a function uses a {tensor.dtype.name} tensor which is neither an argument nor a variable there: "
                    "make it an attribute of the object that is saved"
                )
            value = constant(tensor.numpy(), name="captured")  # type: ignore[attr-defined]
            self.message.nodes.add().constant.operation = value.op.name
            self.bound[tensor] = len(self.message.nodes) - 1, value
        return self.bound[tensor]

    def add_function(self, function: ConcreteFunction, arguments: Any) -> list[Tensor]:
        """Adds a function to the library; returns the tensors of the graph that it uses besides its arguments."""
        used = [self.node(tensor) for tensor in function._outside]
        for name, graph_function in {function.name: function.function, **function.graph._functions}.items():
            self.graph._functions.setdefault(name, graph_function)
        saved = self.message.concrete_functions[function.name]
        saved.bound_inputs.extend(number for number, _ in used)
        saved.canonicalized_input_signature.CopyFrom(structured_value(arguments))
        saved.output_signature.CopyFrom(structured_value(_specs(function.structured_outputs)))
        return [tensor for _, tensor in used]

    def add_method(self, method: SavedFunction) -> None:
        """Adds a function with several traces as a part of the root."""
        node = self.message.nodes.add().function
        node.concrete_functions.extend(function.name for _, function in method.traces)
        node.function_spec.fullargspec.CopyFrom(argument_spec(method.parameters, method.defaults))
        node.function_spec.input_signature.none_value.SetInParent()
        for arguments, function in method.traces:
            self.add_function(function, arguments)
        self.message.nodes[0].children.add(local_name=method.name, node_id=len(self.message.nodes) - 1)

    def add_signatures(self, signatures: Mapping[str, ConcreteFunction]) -> dict[str, Any]:
        """Adds the signatures as parts of the root; returns those of the graph."""
        number = len(self.message.nodes)
        as_user_object(self.message.nodes.add(), "signature_map")
        self.message.nodes[0].children.add(local_name="signatures", node_id=number)
        concrete_functions = {}
        for key, function in signatures.items():
            specs = {
                tensor.op.name: NamedSpec(tensor.op.name, tensor.dtype, tensor.dims) for tensor in function._arguments
            }
            used = self.add_function(function, ((), specs))
            node = self.message.nodes.add().bare_concrete_function
            node.concrete_function_name = function.name
            node.argument_keywords.extend(sorted(specs))
            node.allowed_positional_arguments = len(specs)
            self.message.nodes[number].children.add(local_name=key, node_id=len(self.message.nodes) - 1)
            concrete_functions[key] = _call_of(key, function, used)
        return concrete_functions


def _call_of(key: str, function: ConcreteFunction, used: Sequence[Tensor]) -> Any:
    """Adds placeholders and a call of a function to the graph; returns their signature."""
    inputs = {
        tensor.op.name: placeholder(tensor.dtype, tensor.dims, name=f"{key}_{tensor.op.name}")
        for tensor in function._arguments
    }
    call = stateful_partitioned_call_op if function.function.is_stateful else partitioned_call_op
    types = [output.dtype for output in function.outputs]
    call_outputs = call.many([*inputs.values(), *used], Tout=types, f=function.function)
    structure: Any = function.structured_outputs  # the tensors of a signature by name
    outputs = dict(zip(sorted(structure), call_outputs, strict=True))
    for name, tensor in outputs.items():
        tensor.set_shape(structure[name].dims)
    return predict_signature_def(inputs or {}, outputs)


def write_objects(
    root: Any,
    export_dir: PathLike,
    signatures: Mapping[str, ConcreteFunction],
    methods: Sequence[SavedFunction] = (),
    session: Any = None,
) -> Any:
    """Writes a SavedModel of an object; returns the graph of its objects."""
    folder = folder_of(export_dir)
    checkpoint = Checkpoint()
    for name, child in children_of(root):
        setattr(checkpoint, name, child)
    with get_default_graph().as_default() if session is None else session.graph.as_default():
        tracking = walk(checkpoint)
        slots = [slot for _, _, _, slot in slots_in(tracking)]
        graph_of_keys, _ = described(checkpoint)
    with durable.typed_errors(folder):
        os.makedirs(os.path.dirname(variables_prefix(folder)), exist_ok=True)
    checkpoint.write(variables_prefix(folder), session)

    from tensorboard.compat.proto.saved_object_graph_pb2 import SavedObjectGraph

    message = SavedObjectGraph()
    objects = [root, *tracking.objects[1:], *slots]
    for value, tracked in zip(objects, graph_of_keys.nodes, strict=True):
        node = message.nodes.add()
        node.children.extend(tracked.children)
        node.slot_variables.extend(tracked.slot_variables)
        describe(value, node)
    with Graph().as_default() as graph:
        writer = _Writer(graph, message, objects)
        writer.add_variables()
        for method in methods:
            writer.add_method(method)
        concrete_functions = writer.add_signatures(signatures)
        keys = {graph_of_keys.nodes[number].attributes[0].checkpoint_key: twin for number, twin in writer.twins.items()}
        exported = Saver(keys, allow_empty=True).export_meta_graph(clear_devices=True)
    exported.object_graph_def.CopyFrom(message)
    exported.meta_info_def.tags.append(SERVING)
    for key, signature in concrete_functions.items():
        exported.signature_def[key].CopyFrom(signature)
    saved = new_saved_model()
    saved.meta_graphs.append(exported)
    write_saved_model(saved, folder, as_text=False)
    return message


@export("saved_model.save")
def save(obj: Any, export_dir: PathLike, signatures: Any = None, options: Any = None) -> None:
    """Saves an object that checkpoints can track, with functions that it is served by.

    signatures: a tf.function with an input_signature, a trace of a function, or a dictionary of them by key; by
    default, what `tf.function` of the object has an input_signature, if there is only one

    Args:
        obj: An object that checkpoints can track: a module, a Keras model, a `tf.train.Checkpoint`.
        signatures: Functions that the folder is served by, one or several by key.
        options: Not used.
    """
    functions = signature_functions(_default_signature(obj) if signatures is None else signatures)
    write_objects(obj, export_dir, functions, session=None if executing_eagerly() else session_for(None))


def _default_signature(obj: Any) -> Any:
    """Returns the only function of an object that has an input_signature, None if there are none or several."""
    functions = [
        getattr(obj, name)
        for name in dir(type(obj))
        if isinstance(getattr(type(obj), name, None), Function) and getattr(type(obj), name).input_signature is not None
    ]
    return functions[0] if len(functions) == 1 else None
