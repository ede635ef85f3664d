"""tf.distribute.cluster_resolver: Resolvers, which find the tasks of a cluster and the task of this process."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.cluster.resolvers.cluster_resolver import (
    ClusterResolver as ClusterResolver,
    SimpleClusterResolver as SimpleClusterResolver,
    UnionClusterResolver as UnionResolver,
)
from thalweg._src.cluster.resolvers.gce import GCEClusterResolver as GCEClusterResolver
from thalweg._src.cluster.resolvers.kubernetes import (
    ExecutableLocation as KubernetesExecutableLocation,
    KubernetesClusterResolver as KubernetesClusterResolver,
)
from thalweg._src.cluster.resolvers.slurm import SlurmClusterResolver as SlurmClusterResolver
from thalweg._src.cluster.resolvers.tfconfig import TFConfigClusterResolver as TFConfigClusterResolver
from thalweg._src.cluster.resolvers.tpu import TPUClusterResolver as TPUClusterResolver

__all__ = [
    "ClusterResolver", "GCEClusterResolver", "KubernetesClusterResolver", "KubernetesExecutableLocation",
    "SimpleClusterResolver", "SlurmClusterResolver", "TFConfigClusterResolver", "TPUClusterResolver", "UnionResolver",
]
