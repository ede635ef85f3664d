"""tf.ray: Clusters on Ray."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.tools.ray.cluster import (
    Cluster as Cluster,
    TaskError as TaskError,
)

__all__ = ["Cluster", "TaskError"]
