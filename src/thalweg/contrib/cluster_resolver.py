"""tf.contrib.cluster_resolver: Cluster resolvers under the names of tf.contrib."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.cluster.resolvers.cluster_resolver import (
    ClusterResolver as ClusterResolver,
    SimpleClusterResolver as SimpleClusterResolver,
    UnionClusterResolver as UnionClusterResolver,
)
from thalweg._src.cluster.resolvers.gce import GCEClusterResolver as GCEClusterResolver
from thalweg._src.cluster.resolvers.kubernetes import KubernetesClusterResolver as KubernetesClusterResolver
from thalweg._src.cluster.resolvers.slurm import SlurmClusterResolver as SlurmClusterResolver
from thalweg._src.cluster.resolvers.tfconfig import TFConfigClusterResolver as TFConfigClusterResolver
from thalweg._src.cluster.resolvers.tpu import TPUClusterResolver as TPUClusterResolver

__all__ = [
    "ClusterResolver", "GCEClusterResolver", "KubernetesClusterResolver", "SimpleClusterResolver",
    "SlurmClusterResolver", "TFConfigClusterResolver", "TPUClusterResolver", "UnionClusterResolver",
]
