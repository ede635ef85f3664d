"""tf.contrib.quantize: Training with the rounding of eight bits."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.quantize.rewrite import (
    create_eval_graph as create_eval_graph,
    create_training_graph as create_training_graph,
    experimental_create_eval_graph as experimental_create_eval_graph,
    experimental_create_training_graph as experimental_create_training_graph,
)

__all__ = [
    "create_eval_graph", "create_training_graph", "experimental_create_eval_graph",
    "experimental_create_training_graph",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
