"""tf.saved_model.loader: what loads saved models."""

from thalweg._src.client.saved_model import load
from thalweg._src.client.saved_model_files import maybe_saved_model_directory

__all__ = ["load", "maybe_saved_model_directory"]
