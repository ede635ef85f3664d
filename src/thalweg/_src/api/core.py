"""tf.core: the modules of protocol messages that published programs import, showing the public messages."""

from thalweg._src.api.python import grow as _grow

_FOLDERS = {
    "example": "example feature",
    "framework": """attr_value cost_graph function graph node_def op_def resource_handle step_stats summary tensor
        tensor_shape types variable versions""",
    "protobuf": "cluster config meta_graph rewriter_config saver",
    "util": "event",
}

_grow(
    __name__,
    {
        f"{folder}.{name}_pb2": ("", "train", "thalweg.config", f"tensorboard.compat.proto.{name}_pb2")
        for folder, names in _FOLDERS.items()
        for name in names.split()
    },
)
