"""tf.distribute: Distribution strategies: training on several devices and machines."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.cluster.distributed.server import Server as Server
from thalweg._src.training.distribute.all_reduce import (
    HierarchicalCopyAllReduce as HierarchicalCopyAllReduce,
    NcclAllReduce as NcclAllReduce,
)
from thalweg._src.training.distribute.cross_device_ops import (
    CrossDeviceOps as CrossDeviceOps,
    ReductionToOneDevice as ReductionToOneDevice,
)
from thalweg._src.training.distribute.current import (
    experimental_set_strategy as experimental_set_strategy,
    get_loss_reduction as get_loss_reduction,
    get_replica_context as get_replica_context,
    get_strategy as get_strategy,
    has_strategy as has_strategy,
    in_cross_replica_context as in_cross_replica_context,
)
from thalweg._src.training.distribute.extended import StrategyExtended as StrategyExtended
from thalweg._src.training.distribute.input_context import (
    InputContext as InputContext,
    InputReplicationMode as InputReplicationMode,
)
from thalweg._src.training.distribute.mirrored import (
    MirroredStrategy as MirroredStrategy,
    OneDeviceStrategy as OneDeviceStrategy,
)
from thalweg._src.training.distribute.reduce_op import ReduceOp as ReduceOp
from thalweg._src.training.distribute.replica_context import ReplicaContext as ReplicaContext
from thalweg._src.training.distribute.strategy import Strategy as Strategy
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.distribute import cluster_resolver as cluster_resolver
    from thalweg.distribute import experimental as experimental

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["cluster_resolver", "experimental"],
    {},
)

__all__ = [
    "CrossDeviceOps", "HierarchicalCopyAllReduce", "InputContext", "InputReplicationMode", "MirroredStrategy",
    "NcclAllReduce", "OneDeviceStrategy", "ReduceOp", "ReductionToOneDevice", "ReplicaContext", "Server", "Strategy",
    "StrategyExtended", "cluster_resolver", "experimental", "experimental_set_strategy", "get_loss_reduction",
    "get_replica_context", "get_strategy", "has_strategy", "in_cross_replica_context",
]
