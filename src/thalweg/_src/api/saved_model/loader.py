"""tf.saved_model.loader: what loads saved models."""

from thalweg._src.saved_model.files import maybe_saved_model_directory
from thalweg._src.saved_model.saved_model import load

__all__ = ["load", "maybe_saved_model_directory"]
