"""tf.version: Versions: of this package, and of the TensorFlow whose interface it implements."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.graph.graphdef import (
    MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER,
    PRODUCER as GRAPH_DEF_VERSION,
)
from thalweg._src.graph.versions import (
    COMPILER_VERSION as COMPILER_VERSION,
    GIT_VERSION as GIT_VERSION,
    GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER,
    THALWEG_VERSION as THALWEG_VERSION,
    VERSION as VERSION,
)

__all__ = [
    "COMPILER_VERSION", "GIT_VERSION", "GRAPH_DEF_VERSION", "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER", "THALWEG_VERSION", "VERSION",
]
