"""tf.saved_model.builder: what writes saved models."""

from thalweg.client.saved_model import SavedModelBuilder

__all__ = ["SavedModelBuilder"]
