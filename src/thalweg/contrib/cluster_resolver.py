"""tf.contrib.cluster_resolver: Cluster resolvers under the names of tf.contrib."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.cluster_resolver.cluster_resolver import (
    ClusterResolver as ClusterResolver,
    SimpleClusterResolver as SimpleClusterResolver,
    UnionClusterResolver as UnionClusterResolver,
)
from thalweg._src.training.cluster_resolver.gce import (
    GCEClusterResolver as GCEClusterResolver,
)
from thalweg._src.training.cluster_resolver.kubernetes import (
    KubernetesClusterResolver as KubernetesClusterResolver,
)
from thalweg._src.training.cluster_resolver.slurm import (
    SlurmClusterResolver as SlurmClusterResolver,
)
from thalweg._src.training.cluster_resolver.tfconfig import (
    TFConfigClusterResolver as TFConfigClusterResolver,
)
from thalweg._src.training.cluster_resolver.tpu import (
    TPUClusterResolver as TPUClusterResolver,
)

__all__ = [
    "ClusterResolver",
    "GCEClusterResolver",
    "KubernetesClusterResolver",
    "SimpleClusterResolver",
    "SlurmClusterResolver",
    "TFConfigClusterResolver",
    "TPUClusterResolver",
    "UnionClusterResolver",
]
