"""tf.distribute.experimental: Strategies over several machines, and with variables in one place."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.distribute.multi_worker import (
    CollectiveCommunication as CollectiveCommunication,
    MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from thalweg._src.training.distribute.parameter_server import (
    CentralStorageStrategy as CentralStorageStrategy,
    ParameterServerStrategy as ParameterServerStrategy,
)

__all__ = [
    "CentralStorageStrategy", "CollectiveCommunication", "MultiWorkerMirroredStrategy", "ParameterServerStrategy",
]
