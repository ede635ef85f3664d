"""tf.keras.models: Models, and what is made of their descriptions."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.engine.model import Model as Model
from thalweg._src.keras.engine.sequential import Sequential as Sequential
from thalweg._src.keras.saving.models import (
    clone_model as clone_model,
    load_model as load_model,
    model_from_config as model_from_config,
    model_from_json as model_from_json,
    model_from_yaml as model_from_yaml,
    save_model as save_model,
)

__all__ = [
    "Model", "Sequential", "clone_model", "load_model", "model_from_config", "model_from_json", "model_from_yaml",
    "save_model",
]
