"""Persistence: descriptions and files of models."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.keras.backend import state
from thalweg._src.keras.engine import tracking
from thalweg._src.keras.engine.config import as_json, as_yaml, describe_graph, make_graph
from thalweg._src.keras.engine.graph_map import GraphModel
from thalweg._src.keras.engine.trainable_model import TrainableModel
from thalweg._src.keras.layers.lookup import deserialize
from thalweg._src.keras.places import in_file
from thalweg._src.keras.saving import hdf5, hdf5_checksum, hdf5_contents, saved_model
from thalweg._src.training.checkpoint.object_checkpoint import Checkpoint
from thalweg._src.training.checkpoint.state import update_checkpoint_state
from thalweg._src.training.checkpoint.trackable import Child, attributes_of, children_of

_HDF5 = (".h5", ".keras", ".hdf5")


class Persistence:
    """What a network has to be described, saved and loaded."""

    built: bool
    layers: Any
    weights: Any

    def get_config(self: GraphModel) -> dict[str, Any]:
        """Returns the description of the model, from which `from_config` makes such a model."""
        return describe_graph(self)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """Returns the model that a description describes."""
        return make_graph(cls, config, custom_objects, lambda data, objects: deserialize(data, custom_objects=objects))

    def to_json(self: GraphModel, **kwargs: Any) -> str:
        """Returns the description of the model as JSON."""
        return as_json(self, **kwargs)

    def to_yaml(self: GraphModel, **kwargs: Any) -> str:
        """Returns the description of the model as YAML."""
        return as_yaml(self, **kwargs)

    def save(
        self: TrainableModel,
        filepath: PathLike,
        overwrite: bool = True,
        include_optimizer: bool = True,
        save_format: str | None = None,
        signatures: Any = None,
    ) -> None:
        """Saves the model, with its weights and the state of its optimizer: as an HDF5 file, or as a SavedModel."""
        if save_format not in (None, "h5", "hdf5", "keras", "tf", "tensorflow"):
            raise ValueError(f"save_format: expected 'h5' or 'tf', received {save_format!r}")
        if save_format in ("tf", "tensorflow"):
            saved_model.write_saved_model(self, filepath, overwrite, include_optimizer, signatures)
            return
        if signatures is not None:
            raise ValueError("signatures: an HDF5 file has none; save the model with save_format='tf'")
        if not overwrite and os.path.exists(filepath):
            raise FileExistsError(f"{filepath} exists, and overwrite is False")
        with hdf5_checksum.created(filepath) as file:
            hdf5.write_model(file, self, include_optimizer)

    def save_weights(self, filepath: PathLike, overwrite: bool = True, save_format: str | None = None) -> None:
        """Saves the weights: as an HDF5 file if the name says so, otherwise as a checkpoint."""
        path = os.fspath(filepath)
        if not self.weights and not self.built:
            raise ValueError("a model that was not called yet has no weights: call it, or build it, before it is saved")
        if save_format not in (None, "h5", "hdf5", "keras", "tf", "tensorflow"):
            raise ValueError(f"Unknown format {save_format!r}. Was expecting one of {{'tf', 'h5'}}.")
        is_hdf5 = save_format in ("h5", "hdf5", "keras") or (save_format is None and path.endswith(_HDF5))
        if not overwrite and os.path.exists(path if is_hdf5 else f"{path}.index"):
            raise FileExistsError(f"{path} exists, and overwrite is False")
        if is_hdf5:
            with hdf5_checksum.created(path) as file:
                hdf5.write_weights(file, self.layers)
        else:
            self._checkpoint().write(path, None if executing_eagerly_outside_functions() else state.get_session())
            update_checkpoint_state(os.path.dirname(path) or ".", path)

    def load_weights(self, filepath: PathLike, by_name: bool = False, *, strict: bool = True) -> Any:
        """Loads weights from an HDF5 file or a checkpoint; of a checkpoint, returns the status of the loading.

        strict: as that of `tf.keras.models.load_model`
        """
        path = os.fspath(filepath)
        if not path.endswith(_HDF5) and os.path.exists(f"{path}.index"):
            if by_name:
                raise NotImplementedError(
                    "a checkpoint is loaded by the structure of the model: by_name is for HDF5 files"
                )
            status = self._checkpoint().read(path)
            if not executing_eagerly_outside_functions():
                status.run_restore_ops(state.get_session())
            return status
        if not self.built:
            raise ValueError("the weights of an HDF5 file are for a model that was built: call or build it first")
        with in_file(path), hdf5_checksum.opened(path, strict) as file:
            is_model = (
                hdf5_contents.attribute(file, "layer_names") is None
                and hdf5_contents.link_to(file, "model_weights") is not None
            )
            group = hdf5_contents.member(file, "model_weights") if is_model else file
            hdf5.read_weights(group, self.layers, by_name, strict)
        logging.debug("loaded the weights of %s", path)
        return None

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(**dict(children_of(self)))


def children_of_network(model: TrainableModel) -> Iterator[Child]:
    """Yields the layers of a graph by their numbers, then the attributes of the model."""
    if model._is_graph_network:
        count = 0
        for index, layer in enumerate(model.layers):
            if layer.weights:
                yield f"layer_with_weights-{count}", layer
                count += 1
            yield f"layer-{index}", layer
    skipped = tracking.UNTRACKED | {"optimizer", "history", "inputs", "outputs", "loss"}
    yield from attributes_of(model, without=skipped)
    if model.optimizer is not None:
        yield "optimizer", model.optimizer
