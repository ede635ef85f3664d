"""tf.io: graphs as files."""

from thalweg.graph.graphdef import (
    write_graph,
)

__all__ = ["write_graph"]
