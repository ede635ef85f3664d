"""tf.keras.wrappers.scikit_learn: Models as estimators of scikit-learn."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.wrappers.scikit_learn import (
    KerasClassifier as KerasClassifier,
    KerasRegressor as KerasRegressor,
)

__all__ = ["KerasClassifier", "KerasRegressor"]
