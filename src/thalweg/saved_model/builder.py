"""tf.saved_model.builder: The writer of SavedModels."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.deploy.saved_model.saved_model import SavedModelBuilder as SavedModelBuilder

__all__ = ["SavedModelBuilder"]
