"""tf.keras.regularizers: Penalties of weights and activities."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.regularizers import (
    L1L2 as L1L2,
    Regularizer as Regularizer,
    deserialize as deserialize,
    get as get,
    l1 as l1,
    l1_l2 as l1_l2,
    l2 as l2,
    serialize as serialize,
)

__all__ = ["L1L2", "Regularizer", "deserialize", "get", "l1", "l1_l2", "l2", "serialize"]
