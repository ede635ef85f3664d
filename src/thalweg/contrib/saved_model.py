"""tf.contrib.saved_model: Keras models as SavedModels, with a graph for each mode."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.estimator.keras_export import (
    export_saved_model as save_keras_model,
    load_from_saved_model as load_keras_model,
)

__all__ = ["load_keras_model", "save_keras_model"]
