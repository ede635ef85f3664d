"""tf.keras.estimator: Estimators of Keras models."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.estimator.keras_models import model_to_estimator as model_to_estimator

__all__ = ["model_to_estimator"]
