"""Keras models as SavedModels of TensorFlow 1.15, with a graph for each mode: training, evaluation and serving.

The variables of the folder are a checkpoint that `model.load_weights` reads, and a file has the description of the
model, so that the model can be made again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.dtypes import float32
from thalweg._src.base.export import export
from thalweg._src.base.formats import durable
from thalweg._src.base.formats.regular import read_regular
from thalweg._src.base.formats.text import PathLike
from thalweg._src.deploy.saved_model.files import (
    ASSETS_DIRECTORY,
    MAIN_OP_KEY,
    folder_of,
    new_saved_model,
    variables_prefix,
    write_saved_model,
)
from thalweg._src.estimator.export_outputs import signature_defs
from thalweg._src.estimator.keras_models import copy_maker, spec_of
from thalweg._src.estimator.saved_models import TAGS, outputs_of
from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.scopes import GraphKeys, add_to_collection
from thalweg._src.keras.backend import state
from thalweg._src.keras.engine.model import Model
from thalweg._src.keras.optimizers.optimizer import Optimizer
from thalweg._src.keras.saving.models import model_from_json
from thalweg._src.training.checkpoint.object_checkpoint import Checkpoint
from thalweg._src.training.checkpoint.object_graph import described
from thalweg._src.training.checkpoint.saver import Saver
from thalweg._src.training.checkpoint.trackable import children_of
from thalweg._src.training.mode_keys import ModeKeys
from thalweg._src.training.scaffold import Scaffold
from thalweg._src.training.variables.global_step import create_global_step
from thalweg._src.training.variables.variables import Variable

_DESCRIPTION = "saved_model.json"


@export("keras.experimental.export_saved_model", "contrib.saved_model.save_keras_model")
def export_saved_model(
    model: Model,
    saved_model_path: PathLike,
    custom_objects: dict[str, Any] | None = None,
    as_text: bool = False,
    input_signature: object = None,
    serving_only: bool = False,
) -> None:
    """Writes a model of layers into a new folder: its description, its variables, and a graph for each mode.

    Args:
        model: A model of layers.
        saved_model_path: A new folder.
        custom_objects: Classes and functions of the program, by their names in the description.
        as_text: Whether the graphs are written as text, not binary.
        input_signature: Not used: the inputs of a model of layers are known.
        serving_only: Whether the graphs for training and evaluation are left out.
    """
    folder = folder_of(saved_model_path)
    if os.path.isdir(folder) and os.listdir(folder):
        raise AssertionError(f"Export directory {folder} already exists, and isn't empty.")
    if not model._is_graph_network:
        raise ValueError(
            f"{type(model).__name__} has a `call` of its own, of which no copies can be made for each mode: save it "
            "with model.save(folder, save_format='tf')"
        )
    modes = [ModeKeys.PREDICT]
    if model.optimizer is not None and not serving_only:
        modes = [ModeKeys.EVAL, *modes]
        if isinstance(model.optimizer, Optimizer):
            modes = [ModeKeys.TRAIN, *modes]
            model.optimizer._create_all(model.trainable_weights)
        else:
            logging.warning("the optimizer is one of tf.train: no graph for training is written")
    _write_files(model, folder)
    copy_for = copy_maker(model, custom_objects or {})
    message = new_saved_model()
    for mode in modes:
        message.meta_graphs.append(_graph_of(model, mode, copy_for))
    write_saved_model(message, folder, as_text)


def _write_files(model: Model, folder: str) -> None:
    """Writes the variables and the description of a model."""
    path, prefix = os.path.join(folder, ASSETS_DIRECTORY, _DESCRIPTION), variables_prefix(folder)
    with durable.typed_errors(folder):
        for name in (path, prefix):
            os.makedirs(os.path.dirname(name), exist_ok=True)
        durable.write_file(path, model.to_json().encode())
    model._checkpoint().write(prefix, None if executing_eagerly_outside_functions() else state.get_session())


def _graph_of(model: Model, mode: str, copy_for: Callable[[Any, str], Any]) -> Any:
    """Returns the graph of a copy of a model in a mode, with its signature and what restores its variables."""
    with Graph().as_default() as graph:
        create_global_step(graph)
        receivers = {
            name: placeholder(tensor.dtype, tensor.dims, name=name)
            for name, tensor in zip(model.input_names, model.inputs, strict=True)
        }
        labels = {}
        if mode != ModeKeys.PREDICT:
            for name, tensor in zip(model.output_names, model.outputs, strict=True):
                labels[name] = placeholder(float32, [None] * len(tensor.dims), name=f"{name}_target")
        copy = copy_for(dict(receivers), mode)
        spec = spec_of(copy, labels, mode)
        receivers |= {f"{name}_target": tensor for name, tensor in labels.items()}
        signatures, _ = signature_defs(receivers, outputs_of(spec))
        add_to_collection(MAIN_OP_KEY, Scaffold.default_local_init_op())
        if mode == ModeKeys.TRAIN:
            add_to_collection(GraphKeys.TRAIN_OP, spec.train_op)
        children = {name: child for name, child in children_of(copy) if mode == ModeKeys.TRAIN or name != "optimizer"}
        _, saveables = described(Checkpoint(**children))
        variables = {saveable.name: saveable.op for saveable in saveables if isinstance(saveable.op, Variable)}
        message = Saver(variables, allow_empty=True).export_meta_graph(clear_devices=True)
    message.meta_info_def.tags.append(TAGS[mode])
    for key, signature in signatures.items():
        message.signature_def[key].CopyFrom(signature)
    return message


@export("keras.experimental.load_from_saved_model", "contrib.saved_model.load_keras_model")
def load_from_saved_model(
    saved_model_path: PathLike, custom_objects: dict[str, Any] | None = None, *, trusted: bool | None = None
) -> Any:
    """Returns the model of a folder that `export_saved_model` wrote, not compiled.

    trusted: as that of `tf.keras.models.load_model`

    Args:
        saved_model_path: The folder.
        custom_objects: Classes and functions of the program, by their names in the description.
        trusted: Whether functions of any loaded module may be named; False refuses to read files.
    """
    folder = folder_of(saved_model_path)
    path = os.path.join(folder, ASSETS_DIRECTORY, _DESCRIPTION)
    if not os.path.exists(path):
        raise OSError(
            f"{folder} has no {ASSETS_DIRECTORY}/{_DESCRIPTION}: it was not written by export_saved_model. A folder of "
            "model.save is read by tf.keras.models.load_model"
        )
    with durable.typed_errors(path):
        description = read_regular(path).decode()
    model = model_from_json(description, custom_objects, trusted=trusted)
    model.load_weights(variables_prefix(folder))
    return model
