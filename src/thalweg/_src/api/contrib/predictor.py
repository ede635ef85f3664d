"""tf.contrib.predictor: saved models as functions."""

from thalweg._src.contrib.predictor import from_saved_model

__all__ = ["from_saved_model"]
