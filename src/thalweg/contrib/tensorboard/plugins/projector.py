"""tf.contrib.tensorboard.plugins.projector: The configuration of the embedding projector."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.compat.contrib.projector import visualize_embeddings as visualize_embeddings
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo as EmbeddingInfo
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig as ProjectorConfig
    from tensorboard.plugins.projector.projector_config_pb2 import SpriteMetadata as SpriteMetadata

__getattr__, __dir__ = _lazy_names(
    __name__,
    [],
    {
        "EmbeddingInfo": "tensorboard.plugins.projector.projector_config_pb2",
        "ProjectorConfig": "tensorboard.plugins.projector.projector_config_pb2",
        "SpriteMetadata": "tensorboard.plugins.projector.projector_config_pb2",
    },
)

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]
