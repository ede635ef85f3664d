"""tf.keras: Keras: models made of layers, trained by `fit`."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.graph.versions import KERAS_VERSION as __version__
from thalweg._src.keras.engine.input_layer import Input as Input
from thalweg._src.keras.engine.model import Model as Model
from thalweg._src.keras.engine.sequential import Sequential as Sequential
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.keras import activations as activations
    from thalweg.keras import applications as applications
    from thalweg.keras import backend as backend
    from thalweg.keras import callbacks as callbacks
    from thalweg.keras import constraints as constraints
    from thalweg.keras import datasets as datasets
    from thalweg.keras import estimator as estimator
    from thalweg.keras import experimental as experimental
    from thalweg.keras import initializers as initializers
    from thalweg.keras import layers as layers
    from thalweg.keras import losses as losses
    from thalweg.keras import metrics as metrics
    from thalweg.keras import models as models
    from thalweg.keras import optimizers as optimizers
    from thalweg.keras import preprocessing as preprocessing
    from thalweg.keras import regularizers as regularizers
    from thalweg.keras import utils as utils
    from thalweg.keras import wrappers as wrappers

__getattr__, __dir__ = _lazy_names(
    __name__,
    [
        "activations", "applications", "backend", "callbacks", "constraints", "datasets", "estimator", "experimental",
        "initializers", "layers", "losses", "metrics", "models", "optimizers", "preprocessing", "regularizers", "utils",
        "wrappers",
    ],
    {},
)

__all__ = [
    "Input", "Model", "Sequential", "activations", "applications", "backend", "callbacks", "constraints", "datasets",
    "estimator", "experimental", "initializers", "layers", "losses", "metrics", "models", "optimizers", "preprocessing",
    "regularizers", "utils", "wrappers",
]
