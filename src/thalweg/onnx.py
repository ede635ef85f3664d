"""tf.onnx: Models for ONNX runtimes."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.deploy.onnx_export.export import (
    from_graph_def as from_graph_def,
    from_saved_model as from_saved_model,
    from_session as from_session,
)

__all__ = ["from_graph_def", "from_saved_model", "from_session"]
