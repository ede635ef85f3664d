"""InputContext: which part of the input a pipeline supplies."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from thalweg._src.base.export import export


@export("distribute.InputReplicationMode")
class InputReplicationMode(enum.Enum):
    """How often an input function is called."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


@export("distribute.InputContext")
@dataclass(frozen=True)
class InputContext:
    """Which of how many input pipelines an input function makes, and for how many replicas all of them are."""

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0
    num_replicas_in_sync: int = 1

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Returns the batch size of a replica."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"global_batch_size: expected a multiple of the {self.num_replicas_in_sync} replicas, "
                f"received {global_batch_size}"
            )
        return global_batch_size // self.num_replicas_in_sync
