"""How the copies of a replicated variable are kept together; one process has one copy of each."""

from __future__ import annotations

import enum

from thalweg._src.base.export import export


@export("VariableSynchronization")
class VariableSynchronization(enum.Enum):
    """When the replicas of a variable are aggregated."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


@export("VariableAggregation")
class VariableAggregation(enum.Enum):
    """How the replicas of a variable are aggregated."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3
