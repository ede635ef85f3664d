"""Models from SavedModels that `model.save` has written, here or with Keras 2 on TensorFlow 2."""

from __future__ import annotations

import os
from typing import Any

from thalweg._src.base.formats import durable
from thalweg._src.base.formats.graph_messages import message_class
from thalweg._src.base.formats.regular import read_regular
from thalweg._src.base.formats.text import PathLike
from thalweg._src.deploy.saved_model.files import folder_of, read_saved_model, variables_prefix
from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.keras.backend import state
from thalweg._src.keras.backend.values import batch_set_value
from thalweg._src.keras.engine.config import read_json
from thalweg._src.keras.engine.network import Network
from thalweg._src.keras.layers.lookup import deserialize
from thalweg._src.keras.places import at, entry, expected, within
from thalweg._src.keras.saving.saved_model import METADATA_FILE
from thalweg._src.keras.saving.training_config import compile_model
from thalweg._src.keras.serialization import class_and_config, get_custom_objects
from thalweg._src.training.checkpoint.object_checkpoint import Checkpoint
from thalweg._src.training.checkpoint.object_graph import GRAPH_KEY, parse_graph
from thalweg._src.training.checkpoint.reader import CheckpointReader
from thalweg._src.training.checkpoint.trackable import children_of

# The lists of the optimizers of later releases: by class, the slots of which they are, in the order of the variables.
_LATER_SLOTS = {
    "Adam": {"_momentums": "m", "_velocities": "v", "_velocity_hats": "vhat"},
    "Nadam": {"_momentums": "m", "_velocities": "v"},
    "Adamax": {"_m": "m", "_u": "v"},
    "SGD": {"momentums": "momentum"},
    "RMSprop": {"_velocities": "rms", "_momentums": "momentum", "_average_gradients": "mg"},
    "Adagrad": {"_accumulators": "accumulator"},
    "Adadelta": {"_accumulated_grads": "accum_grad", "_accumulated_delta_vars": "accum_var"},
    "Ftrl": {"_accumulators": "accumulator", "_linears": "linear"},
}


def read_model(filepath: PathLike, custom_objects: dict[str, Any] | None, compiled: bool) -> Any:
    """Returns the model of a folder; compiled: as it was when it was saved, if the folder says how."""
    folder = folder_of(filepath)
    graphs = read_saved_model(folder).meta_graphs
    if not graphs:
        raise OSError(f"{folder} has no description of a Keras model: its SavedModel has no graph")
    objects = graphs[0].object_graph_def
    content = _metadata(folder, objects)
    with within(content):
        model = _described_model(content, custom_objects)
    training = content.get("training_config") if compiled else None
    if training is not None:
        compile_model(model, training, custom_objects)
    optimizer = _children(objects, 0).get("optimizer")
    names = [] if optimizer is None or training is None else _children(objects, optimizer)
    takes_state = "iter" in names
    if takes_state:
        model.optimizer._create_all(model.trainable_weights)
    _restore(model, variables_prefix(folder), takes_state)
    if "_iterations" in names:
        _restore_later_optimizer(model, variables_prefix(folder))
    return model


# -- descriptions -----------------------------------------------------------------------------------------------------


def _metadata(folder: str, objects: Any) -> dict[str, Any]:
    """Returns the description of the model itself: of a file of its own, or of the graph of objects."""
    from google.protobuf.message import DecodeError

    path = os.path.join(folder, METADATA_FILE)
    if os.path.exists(path):
        with durable.typed_errors(path):
            content = read_regular(path)
        try:
            texts = {node.node_id: node.metadata for node in message_class("KerasMetadata").FromString(content).nodes}
        except DecodeError as error:
            raise OSError(f"Cannot parse file {path}: {error}.") from None
    else:
        texts = {0: objects.nodes[0].user_object.metadata} if objects.nodes else {}
    if not texts.get(0):
        raise ValueError(
            f"{folder} has no description of a Keras model: it was not written by `model.save`. Its signatures can be "
            "served: tf.saved_model.load(session, ['serve'], folder)"
        )
    return expected(dict, read_json(texts[0], _plain))  # type: ignore[no-any-return]


def _plain(value: dict[str, Any]) -> Any:
    """Returns tuples and shapes in the place of what stands for them."""
    if value.get("class_name") in ("__tuple__", "TensorShape") and "items" in value:
        return tuple(value["items"]) if value["class_name"] == "__tuple__" else value["items"]
    return value


def _described_model(content: dict[str, Any], custom_objects: dict[str, Any] | None) -> Any:
    """Returns the model that a description describes, with its variables."""
    name, config = entry(content, "class_name", str), content.get("config")
    is_custom = name in (custom_objects or {}) or name in get_custom_objects()
    if config is None:
        raise ValueError(
            f"the model has a `call` of its own and no configuration: make it with its class {name} and load its "
            "variables, `model.load_weights(folder + '/variables/variables')`"
        )
    if not is_custom and content.get("is_graph_network") and name not in ("Functional", "Sequential"):
        name = "Model"  # a subclass that only adds methods
    model = deserialize(class_and_config(name, config), custom_objects)
    if not isinstance(model, Network):
        raise TypeError(f"expected the description of a model, received that of {model!r}")
    if not model.built and content.get("build_input_shape") is not None:
        with at("build_input_shape"):
            model.build(content["build_input_shape"])
    return model


# -- variables --------------------------------------------------------------------------------------------------------


def _restore(model: Network, prefix: str, takes_state: bool) -> None:
    """Restores the variables of a model and, on request, those of its optimizer."""
    checkpoint = Checkpoint(**{name: child for name, child in children_of(model) if takes_state or name != "optimizer"})
    status = checkpoint.read(prefix)
    if not executing_eagerly_outside_functions():
        session = state.get_session()
        status.run_restore_ops(session)
        with session.graph.as_default():
            status.assert_existing_objects_matched()
    else:
        status.assert_existing_objects_matched()


def _restore_later_optimizer(model: Network, prefix: str) -> None:
    """Sets the state of an optimizer to that of one of a later release, whose slots are lists."""
    optimizer, reader = model.optimizer, CheckpointReader(prefix)
    keys = _optimizer_keys(parse_graph(reader.get_tensor(GRAPH_KEY), prefix))
    optimizer._create_all(model.trainable_weights)
    values = [(optimizer.iterations, reader.get_tensor(keys["_iterations"]))]
    for name, slot in _LATER_SLOTS.get(type(optimizer).__name__, {}).items():
        if slot not in optimizer.get_slot_names():
            continue
        for index, variable in enumerate(model.trainable_weights):
            key = keys.get(f"{name}/{index}")
            if key is not None:
                values.append((optimizer.get_slot(variable, slot), reader.get_tensor(key)))
    batch_set_value(values)


def _optimizer_keys(graph: Any) -> dict[str, str]:
    """Returns the keys in a checkpoint of the variables of the optimizer and of those in its lists, by name."""
    keys = {}
    for name, number in _children(graph, _children(graph, 0)["optimizer"]).items():
        inner = {f"{name}/{index}": child for index, child in _children(graph, number).items()}
        for path, child in {name: number, **inner}.items():
            if graph.nodes[child].attributes:
                keys[path] = graph.nodes[child].attributes[0].checkpoint_key
    return keys


def _children(graph: Any, number: int) -> dict[str, int]:
    if not 0 <= number < len(graph.nodes):
        raise ValueError(f"the graph of objects of the model has no object {number}, which it names")
    return {child.local_name: child.node_id for child in graph.nodes[number].children}
