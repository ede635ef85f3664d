"""ReduceOp: how the values of replicas become one."""

from __future__ import annotations

import enum

from thalweg._src.base.export import export
from thalweg._src.training.variables.replication import VariableAggregation


@export("distribute.ReduceOp")
class ReduceOp(enum.Enum):
    """How the values of replicas are reduced to one."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: VariableAggregation) -> ReduceOp:
        """Returns the reduction of a variable's aggregation, which must be SUM or MEAN."""
        if aggregation in (VariableAggregation.SUM, VariableAggregation.MEAN):
            return ReduceOp(aggregation.name)
        raise ValueError(f"aggregation: expected SUM or MEAN, received {aggregation}")


def as_reduce_op(reduce_op: ReduceOp | str) -> ReduceOp:
    """Returns a reduction that may be given by name."""
    if isinstance(reduce_op, str) and reduce_op.upper() in ReduceOp.__members__:
        return ReduceOp(reduce_op.upper())
    if not isinstance(reduce_op, ReduceOp):
        raise ValueError(f"reduce_op: expected tf.distribute.ReduceOp.SUM or MEAN, received {reduce_op!r}")
    return reduce_op
