"""tf.saved_model.builder: what writes saved models."""

from thalweg._src.client.saved_model import SavedModelBuilder

__all__ = ["SavedModelBuilder"]
