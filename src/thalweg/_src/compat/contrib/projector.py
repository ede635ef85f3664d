"""tf.contrib.tensorboard.plugins.projector: the configuration of TensorBoard's embedding projector."""

from __future__ import annotations

import os
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export, export_lazy

_FILE = "projector_config.pbtxt"  # the name under which TensorBoard looks for it


@export("contrib.tensorboard.plugins.projector.visualize_embeddings")
def visualize_embeddings(summary_writer: Any, config: object) -> None:
    """Writes the configuration of the embedding projector to the folder of a summary writer.

    Args:
        summary_writer: The writer, with a method `get_logdir`.
        config: The ProjectorConfig, which names the embeddings and their metadata.
    """
    from google.protobuf import text_format

    require_members("summary_writer", summary_writer, "a summary writer", "get_logdir")
    require_members("config", config, "a ProjectorConfig message", "SerializeToString")
    logdir = summary_writer.get_logdir()
    if logdir is None:
        raise ValueError("summary_writer: expected a writer with a folder, received one whose get_logdir() is None")
    os.makedirs(logdir, exist_ok=True)
    with open(os.path.join(logdir, _FILE), "w", encoding="utf-8") as file:
        file.write(text_format.MessageToString(config))


for _name, _doc in {
    "EmbeddingInfo": "Message of an embedding: the tensor, and the files of its metadata, bookmarks and sprites.",
    "ProjectorConfig": "Message of what TensorBoard's projector shows: embeddings, and the path of their checkpoint.",
    "SpriteMetadata": "Message of an image of thumbnails: its path, and the size of one of them.",
}.items():
    export_lazy(
        "tensorboard.plugins.projector.projector_config_pb2",
        f"contrib.tensorboard.plugins.projector.{_name}",
        doc=_doc,
    )
