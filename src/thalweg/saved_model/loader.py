"""tf.saved_model.loader: The loader of SavedModels."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.deploy.saved_model.files import contains_saved_model as maybe_saved_model_directory
from thalweg._src.deploy.saved_model.saved_model import load as load

__all__ = ["load", "maybe_saved_model_directory"]
