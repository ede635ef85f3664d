"""tf.saved_model.builder: what writes saved models."""

from thalweg._src.saved_model.saved_model import SavedModelBuilder

__all__ = ["SavedModelBuilder"]
