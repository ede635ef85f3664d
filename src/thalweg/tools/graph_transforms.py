"""tf.tools.graph_transforms: Transforms of graphs for deployment."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.deploy.transform.apply import TransformGraph as TransformGraph

__all__ = ["TransformGraph"]
