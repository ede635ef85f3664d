"""tf.contrib.distribute: Distribution strategies under the names of tf.contrib."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.distribute import (
    CollectiveAllReduceStrategy as CollectiveAllReduceStrategy,
    DistributeConfig as DistributeConfig,
    MirroredStrategy as MirroredStrategy,
    Monitor as Monitor,
    ParameterServerStrategy as ParameterServerStrategy,
    StandardInputStep as StandardInputStep,
    StandardSingleLossStep as StandardSingleLossStep,
    Step as Step,
    run_standard_tensorflow_server as run_standard_tensorflow_server,
)
from thalweg._src.training.distribute.all_reduce import AllReduceCrossDeviceOps as AllReduceCrossDeviceOps
from thalweg._src.training.distribute.cross_device_ops import (
    CrossDeviceOps as CrossDeviceOps,
    ReductionToOneDevice as ReductionToOneDeviceCrossDeviceOps,
)
from thalweg._src.training.distribute.current import (
    get_cross_replica_context as get_cross_replica_context,
    get_loss_reduction as get_loss_reduction,
    get_replica_context as get_replica_context,
    get_strategy as get_distribution_strategy,
    get_strategy as get_strategy,
    has_strategy as has_distribution_strategy,
    has_strategy as has_strategy,
    in_cross_replica_context as in_cross_replica_context,
    require_replica_context as require_replica_context,
)
from thalweg._src.training.distribute.mirrored import OneDeviceStrategy as OneDeviceStrategy
from thalweg._src.training.distribute.strategy import Strategy as DistributionStrategy

__all__ = [
    "AllReduceCrossDeviceOps", "CollectiveAllReduceStrategy", "CrossDeviceOps", "DistributeConfig",
    "DistributionStrategy", "MirroredStrategy", "Monitor", "OneDeviceStrategy", "ParameterServerStrategy",
    "ReductionToOneDeviceCrossDeviceOps", "StandardInputStep", "StandardSingleLossStep", "Step",
    "get_cross_replica_context", "get_distribution_strategy", "get_loss_reduction", "get_replica_context",
    "get_strategy", "has_distribution_strategy", "has_strategy", "in_cross_replica_context", "require_replica_context",
    "run_standard_tensorflow_server",
]
