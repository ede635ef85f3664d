"""tf.keras.constraints: Constraints of weights."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.constraints import (
    Constraint as Constraint,
    MaxNorm as MaxNorm,
    MaxNorm as max_norm,
    MinMaxNorm as MinMaxNorm,
    MinMaxNorm as min_max_norm,
    NonNeg as NonNeg,
    NonNeg as non_neg,
    RadialConstraint as RadialConstraint,
    RadialConstraint as radial_constraint,
    UnitNorm as UnitNorm,
    UnitNorm as unit_norm,
    deserialize as deserialize,
    get as get,
    serialize as serialize,
)

__all__ = [
    "Constraint", "MaxNorm", "MinMaxNorm", "NonNeg", "RadialConstraint", "UnitNorm", "deserialize", "get", "max_norm",
    "min_max_norm", "non_neg", "radial_constraint", "serialize", "unit_norm",
]
