"""TensorBoard: writes what is measured, the graph, histograms, images and embeddings to event files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.formats import summaries
from thalweg._src.base.formats.bundle import BundleWriter
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops.reshape import reshape, squeeze, transpose
from thalweg._src.graph.ops.summary import histogram_summary, image_summary, merge_summary
from thalweg._src.graph.scopes import GraphKeys, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.backend import state
from thalweg._src.keras.backend.functions import function
from thalweg._src.keras.backend.settings import image_data_format
from thalweg._src.keras.backend.values import get_value
from thalweg._src.keras.callbacks.base import Callback, Logs
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.trainable_model import TrainableModel
from thalweg._src.training.checkpoint.state import update_checkpoint_state
from thalweg._src.training.nn.summaries import histogram, image
from thalweg._src.training.observe.file_writer import FileWriter
from thalweg._src.training.variables.variables import Variable

_NOT_MEASURED = ("batch", "size", "num_steps")  # what logs also contain
_PROJECTOR, _EMBEDDINGS = "projector_config.pbtxt", "keras_embedding.ckpt"


@export("keras.callbacks.TensorBoard")
class TensorBoard(Callback):
    """Writes what is measured, the graph, histograms, images and embeddings, for TensorBoard.

    In a graph, histograms are written with each batch of the validation; in eager execution, those of the weights
    after the epoch.

    Args:
        log_dir: Folder of the event files.
        histogram_freq: Number of epochs from one set of histograms to the next, 0 for none. In a graph they need
            validation data, and show outputs of layers too.
        batch_size: Number of examples that are embedded at once.
        write_graph: Whether the graph is written.
        write_grads: Whether histograms in a graph show gradients too.
        write_images: Whether weights are written as images, with the histograms.
        embeddings_freq: Number of epochs from one set of embeddings to the next, 0 for none.
        embeddings_layer_names: Names of the layers whose outputs are written; None for all layers `Embedding`.
        embeddings_metadata: Path of a file that describes the rows, or such paths by the names of layers.
        embeddings_data: Inputs of the model whose outputs are written, one row for each.
        update_freq: "epoch", "batch", or a number of examples: how often what is measured is written.
        profile_batch: Number of the batch to profile; accepted, but batches are not profiled.
    """

    def __init__(
        self,
        log_dir: PathLike = "./logs",
        histogram_freq: int = 0,
        batch_size: int = 32,
        write_graph: bool = True,
        write_grads: bool = False,
        write_images: bool = False,
        embeddings_freq: int = 0,
        embeddings_layer_names: Sequence[str] | None = None,
        embeddings_metadata: str | dict[str, str] | None = None,
        embeddings_data: Any = None,
        update_freq: str | int = "epoch",
        profile_batch: int = 2,
    ) -> None:
        super().__init__()
        self.log_dir: str = os.fspath(log_dir)
        self.histogram_freq = histogram_freq
        self.batch_size = batch_size
        self.write_graph = write_graph
        self.write_grads = write_grads
        self.write_images = write_images
        self.embeddings_freq = embeddings_freq
        self.embeddings_layer_names = embeddings_layer_names
        self.embeddings_metadata = embeddings_metadata
        self.embeddings_data = embeddings_data
        self.update_freq: Any = 1 if update_freq == "batch" else update_freq
        self.writer: Any = None
        self.merged: Any = None
        self._samples = self._written_samples = self._batches = self._validation_batches = 0
        self._has_graph = False

    # -- points of the training ---------------------------------------------------------------------------------------

    def set_model(self, model: TrainableModel) -> None:
        """Starts an event file for the training of a model."""
        super().set_model(model)
        self.merged = None
        self._has_graph = False
        with state.get_graph().as_default():  # the writer refuses eager execution, in which programs have others
            self.writer = FileWriter(self.log_dir)
        if self.embeddings_freq and self.embeddings_data is not None:
            self._configure_projector()

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Has the validation of the epoch write histograms, if they are due."""
        if self.histogram_freq and epoch % self.histogram_freq == 0 and not executing_eagerly_outside_functions():
            steps = self.model.compiled_steps
            tested = steps.test

            def test(batch: Any) -> Any:
                values = tested(batch)
                self._write_validation(batch)
                return values

            steps.test = test

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Writes what was measured of a batch, if enough examples were seen since the last time."""
        self._write_graph_once()
        self._samples += (logs or {}).get("size", 1)
        if self.update_freq != "epoch" and self._samples - self._written_samples >= self.update_freq:
            self._write_scalars("batch", logs, self._batches)
            self._written_samples = self._samples
        self._batches += 1

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Writes what was measured of an epoch, and what else is due."""
        self._write_scalars("epoch", logs, epoch if self.update_freq == "epoch" else self._samples)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            if executing_eagerly_outside_functions():
                self._write_weights(epoch)
            else:
                vars(self.model.compiled_steps).pop("test", None)
        if self.embeddings_freq and self.embeddings_data is not None and epoch % self.embeddings_freq == 0:
            self._write_embeddings(epoch)
        self.writer.flush()

    def on_train_end(self, logs: Logs = None) -> None:
        """Closes the event file."""
        self.writer.close()

    # -- scalars and the graph ----------------------------------------------------------------------------------------

    def _write_scalars(self, prefix: str, logs: Logs, step: int) -> None:
        values = {name: value for name, value in (logs or {}).items() if name not in _NOT_MEASURED}
        tags = [f"{prefix}_{name}".encode() for name in values]
        numbers = [float(np.asarray(value).item()) for value in values.values()]
        self.writer.add_summary(summaries.scalars(tags, numbers), step)

    def _write_graph_once(self) -> None:
        """Writes the graph after the first batch, so that it contains the training step."""
        if self.write_graph and not self._has_graph:
            self._has_graph = True
            if not executing_eagerly_outside_functions() or not self.model.run_eagerly:
                self.writer.add_graph(state.get_graph(), 0)

    # -- histograms and images ----------------------------------------------------------------------------------------

    def _write_validation(self, batch: Any) -> None:
        """Writes the summaries of a graph for a batch of the validation."""
        steps = self.model.compiled_steps
        targets, weights = steps.placeholders_for(batch.targets, True), steps.placeholders_for(batch.weights, False)
        if self.merged is None:
            with state.get_graph().as_default(), name_scope(None):
                self.merged = self._merged(targets, weights)
        fed = [*self.model.inputs, *targets, *weights]
        values = [*batch.inputs, *batch.targets, *batch.weights]
        feeds = {tensor: value for tensor, value in zip(fed, values) if value is not None}
        self.writer.add_summary(state.get_session().run(self.merged, feeds), self._validation_batches)
        self._validation_batches += 1

    def _merged(self, targets: Sequence[Any], weights: Sequence[Any]) -> Tensor:
        """Returns the summaries of weights, gradients and outputs of layers, with those of the program's own."""
        model = self.model
        all_summaries = list(state.get_graph().get_collection(GraphKeys.SUMMARIES))
        total = model.compiled_objectives.compute(model.outputs, targets, weights)[0] if self.write_grads else None
        for layer in model.layers:
            for weight in layer.weights:
                all_summaries.append(histogram(_tag(weight), weight, collections=()))
                picture = _picture(weight) if self.write_images else None
                if picture is not None:
                    all_summaries.append(image(_tag(weight), picture, collections=()))
            trained = layer.trainable_weights if self.write_grads else ()
            for weight, gradient in zip(trained, model.optimizer.get_gradients(total, trained) if trained else ()):
                values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
                all_summaries.append(histogram(f"{_tag(weight)}_grad", values, collections=()))
            all_summaries += [histogram(tag, output, collections=()) for tag, output in _outputs(layer)]
        return merge_summary(all_summaries)

    def _write_weights(self, epoch: int) -> None:
        """Writes the weights of layers, eagerly."""
        for layer in self.model.layers:
            for weight in layer.weights:
                self.writer.add_summary(get_value(histogram_summary(_tag(weight), weight)), epoch)
                picture = _picture(weight) if self.write_images else None
                if picture is not None:
                    self.writer.add_summary(get_value(image_summary(_tag(weight), picture)), epoch)

    # -- embeddings ---------------------------------------------------------------------------------------------------

    def _embedded(self) -> list[Any]:
        """Returns the layers whose outputs are written: those with given names, or all embeddings."""
        names = self.embeddings_layer_names
        if names:
            return [self.model.get_layer(name) for name in names]
        return [layer for layer in self.model.layers if type(layer).__name__ == "Embedding"]

    def _configure_projector(self) -> None:
        """Tells TensorBoard's projector the names of the embeddings, and the files that describe their rows."""
        metadata, embeddings = self.embeddings_metadata, []
        for layer in self._embedded():
            rows = metadata.get(layer.name) if isinstance(metadata, dict) else metadata
            described = [] if rows is None else [f"  metadata_path: {json.dumps(os.fspath(rows))}\n"]
            name = json.dumps(f"{layer.name}_embedding:0")
            embeddings.append("".join(["embeddings {\n", f"  tensor_name: {name}\n", *described, "}\n"]))
        with open(os.path.join(self.log_dir, _PROJECTOR), "w", encoding="utf-8") as file:
            file.write("".join(embeddings))

    def _write_embeddings(self, epoch: int) -> None:
        """Writes a checkpoint of the outputs of layers for the data to embed, one row for each example."""
        layers, inputs = self._embedded(), nest.flatten(self.embeddings_data)
        compute = function(self.model.inputs, [layer.output for layer in layers])
        rows = range(0, len(inputs[0]), self.batch_size)
        outputs_by_batch = [compute([array[start : start + self.batch_size] for array in inputs]) for start in rows]
        prefix = os.path.join(self.log_dir, f"{_EMBEDDINGS}-{epoch}")
        with BundleWriter(prefix) as bundle:
            for layer, batches in zip(layers, zip(*outputs_by_batch)):
                whole = np.concatenate(batches)
                table = np.ascontiguousarray(whole.reshape(len(whole), -1))
                bundle.add(f"{layer.name}_embedding", dtypes.as_dtype(table.dtype), table.shape, table)
            bundle.finish()
        update_checkpoint_state(self.log_dir, prefix)


def _tag(weight: Variable) -> str:
    return str(weight.name.replace(":", "_"))


def _outputs(layer: Layer) -> Iterator[tuple[str, Any]]:
    """Yields tags and outputs of a layer; one that was called several times, or never, has none."""
    output = getattr(layer, "output", None)
    if isinstance(output, list | tuple):
        yield from ((f"{layer.name}_out_{index}", tensor) for index, tensor in enumerate(output))
    elif output is not None:
        yield f"{layer.name}_out", output


def _picture(weight: Variable) -> Any:
    """Returns a weight as images: a vector as a column, a matrix with its longer side across; None for other ranks."""
    pixels = squeeze(convert_to_tensor(weight))
    sizes: list[Any] = pixels.shape.as_list()
    if len(sizes) == 1:
        return reshape(pixels, [1, sizes[0], 1, 1])
    if len(sizes) == 2:
        if sizes[0] > sizes[1]:
            pixels, sizes = transpose(pixels), sizes[::-1]
        return reshape(pixels, [1, *sizes, 1])
    if len(sizes) == 3:
        if image_data_format() == "channels_last":
            pixels, sizes = transpose(pixels, [2, 0, 1]), [sizes[2], *sizes[:2]]
        return reshape(pixels, [*sizes, 1])
    return None
