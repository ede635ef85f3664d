"""Models as SavedModels: descriptions, variables, the state of optimizers, and functions that serve them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from typing import Any

from thalweg._src.base.formats import durable
from thalweg._src.base.formats.graph_messages import message_class
from thalweg._src.base.formats.text import PathLike
from thalweg._src.base.shapes import ShapeLike, TensorShape
from thalweg._src.deploy.saved_model.files import folder_of
from thalweg._src.deploy.saved_model.objects import (
    SavedFunction,
    as_user_object,
    describe,
    signature_functions,
    traced,
    write_objects,
)
from thalweg._src.deploy.saved_model.signatures import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from thalweg._src.deploy.saved_model.structures import NamedSpec
from thalweg._src.graph import nest
from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.keras.backend import state
from thalweg._src.keras.engine import tracking
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.config import VERSION, _plain
from thalweg._src.keras.engine.trainable_model import TrainableModel
from thalweg._src.keras.optimizers.optimizer import Optimizer
from thalweg._src.keras.saving.training_config import training_config
from thalweg._src.training.nn.rnn.sizes import NestedTensors

METADATA_FILE = "keras_metadata.pb"

# -- descriptions -----------------------------------------------------------------------------------------------------


@describe.register(Layer)
def _describe_layer(layer: Layer, node: Any) -> None:
    identifier = "_tf_keras_network" if _is_plain_graph(layer) else layer._object_identifier
    as_user_object(node, identifier, json.dumps(_metadata(layer), default=_plain))


@describe.register(Optimizer)
def _describe_optimizer(optimizer: Any, node: Any) -> None:
    as_user_object(node, "optimizer", producer=2)


def _is_plain_graph(layer: Layer) -> bool:
    return bool(layer._is_graph_network and layer._object_identifier == "_tf_keras_model")


def _metadata(layer: Any) -> dict[str, Any]:
    """Returns what Keras needs to make a layer again."""
    content: dict[str, Any] = {
        "name": layer.name,
        "trainable": layer.trainable,
        "expects_training_arg": layer.takes_argument("training"),
        "dtype": layer._dtype,
        "batch_input_shape": layer._batch_input_shape,
        "stateful": bool(layer.stateful),
        "must_restore_from_config": False,
        "autocast": True,
        "class_name": type(layer).__name__,
    }
    with contextlib.suppress(NotImplementedError):  # of a class with a `call` of its own there is none
        content["config"] = layer.get_config()
    if layer._object_identifier == "_tf_keras_input_layer":
        content.update(sparse=layer.sparse, ragged=False)
    if layer._build_input_shape is not None:
        content["build_input_shape"] = tracking.map_shapes(_shape, layer._build_input_shape)
    if hasattr(layer, "to_json"):
        content.update(_metadata_of_network(layer, content.get("config")))
    return content


def _metadata_of_network(model: TrainableModel, config: Any) -> dict[str, Any]:
    content = {"is_graph_network": model._is_graph_network, "keras_version": VERSION, "backend": "tensorflow"}
    if config is not None:
        content["model_config"] = {"class_name": type(model).__name__, "config": config}
    if model.inputs:
        shapes = [_shape(tensor.shape) for tensor in model.inputs]
        specs = [_spec(*described) for described in zip(shapes, model.inputs, model.input_names, strict=True)]
        content["build_input_shape"] = shapes[0] if len(shapes) == 1 else shapes
        content["save_spec"] = specs[0] if len(specs) == 1 else specs
    training = training_config(model)
    if training is not None:
        content["training_config"] = training
    return content


def _shape(shape: ShapeLike) -> dict[str, Any]:
    sizes = TensorShape(shape)
    return {"class_name": "TensorShape", "items": None if sizes.ndims is None else sizes.as_list()}


def _spec(shape: dict[str, Any], tensor: NestedTensors, name: str) -> dict[str, Any]:
    """Returns the type of an input as Keras writes it."""
    items = [shape, tensor.dtype.name, name]
    return {
        "class_name": "TypeSpec",
        "type_spec": "tf.TensorSpec",
        "serialized": {"class_name": "__tuple__", "items": items},
    }


# -- functions --------------------------------------------------------------------------------------------------------


def _specs_of(model: TrainableModel) -> list[NamedSpec]:
    if model.inputs is None:
        raise ValueError(
            f"Model {model.name!r} cannot be saved because the input shapes have not been set: call it with data, by "
            "`fit` or `predict`, before it is saved"
        )
    return [NamedSpec(name, t.dtype, t.dims) for name, t in zip(model.input_names, model.inputs, strict=True)]


@contextlib.contextmanager
def _as_before(model: TrainableModel) -> Iterator[None]:
    """Context manager: calls of the model inside leave neither losses nor updates behind."""
    layers: dict[int, Any] = {}
    waiting = [model]
    while waiting:
        layer = waiting.pop()
        if id(layer) not in layers:
            layers[id(layer)] = layer
            waiting += getattr(layer, "_nested", ())
    before = [(layer, list(layer._losses), list(layer._updates)) for layer in layers.values()]
    try:
        yield
    finally:
        for layer, losses, updates in before:
            layer._losses, layer._updates = losses, updates


def serving_function(model: TrainableModel) -> Any:
    """Returns the function from the inputs of a model to its outputs, by their names."""
    specs = _specs_of(model)

    def serve(**inputs: Any) -> dict[str, Any]:
        outputs = model.outputs_for([inputs[spec.name] for spec in specs], False)
        return dict(zip(model.output_names, outputs, strict=True))

    with _as_before(model):
        return traced(serve, "signature_wrapper", ((), {spec.name: spec for spec in specs}))


def _call_functions(model: TrainableModel) -> list[SavedFunction]:
    """Returns what readers without the class of a model call: the model itself, in training and not."""
    specs = _specs_of(model)
    inputs: Any = specs[0] if len(specs) == 1 else specs

    def call(inputs: Any, training: Any, mask: Any) -> Any:
        outputs = model.outputs_for(nest.flatten(inputs), training)
        return outputs[0] if len(outputs) == 1 else outputs

    traces = []
    with _as_before(model):
        for training in (False, True):
            arguments: Any = ((inputs, training, None), {})
            traces.append((arguments, traced(call, f"{model.name}_layer_call_fn", arguments)))
    return [SavedFunction("__call__", ["inputs", "training", "mask"], (False, None), traces)]


# -- writing ----------------------------------------------------------------------------------------------------------


def write_saved_model(
    model: TrainableModel,
    filepath: PathLike,
    overwrite: bool = True,
    include_optimizer: bool = True,
    signatures: Any = None,
) -> None:
    """Writes a model into a folder."""
    folder = folder_of(filepath)
    if os.path.exists(folder):
        if not overwrite:
            raise FileExistsError(f"{folder} exists, and overwrite is False")
        if os.path.isdir(folder):
            shutil.rmtree(os.path.join(folder, "variables"), ignore_errors=True)
    is_eager = executing_eagerly_outside_functions()
    optimizer = model.optimizer
    model.optimizer = optimizer if include_optimizer else None
    try:
        with contextlib.nullcontext() if is_eager else state.get_session().graph.as_default():
            functions = signature_functions(signatures) or {DEFAULT_SERVING_SIGNATURE_DEF_KEY: serving_function(model)}
            session = None if is_eager else state.get_session()
            objects = write_objects(model, folder, functions, _call_functions(model), session)
    finally:
        model.optimizer = optimizer
    _write_metadata(objects, folder)


def _write_metadata(objects: Any, folder: str) -> None:
    """Writes the descriptions of the layers into the file in which later releases of Keras look for them."""
    message = message_class("KerasMetadata")()
    paths = {0: "root"}
    for number, node in enumerate(objects.nodes):
        for child in node.children:
            paths.setdefault(child.node_id, f"{paths.get(number, 'root')}.{child.local_name}")
        if not node.user_object.identifier.startswith("_tf_keras"):
            continue
        entry = message.nodes.add(node_id=number, node_path=paths[number], identifier=node.user_object.identifier)
        entry.metadata = node.user_object.metadata
        entry.version.producer = entry.version.min_consumer = 1
    path = os.path.join(folder, METADATA_FILE)
    with durable.typed_errors(path):
        durable.write_file(path, message.SerializeToString(deterministic=True))
