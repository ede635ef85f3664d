"""tf.keras.utils: Progress bars, sequences of batches, custom objects and arrays."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.serialization import (
    CustomObjectScope as CustomObjectScope,
    custom_object_scope as custom_object_scope,
    deserialize_keras_object as deserialize_keras_object,
    get_custom_objects as get_custom_objects,
    serialize_keras_object as serialize_keras_object,
)
from thalweg._src.keras.utils.arrays import (
    normalize as normalize,
    to_categorical as to_categorical,
)
from thalweg._src.keras.utils.data_utils import (
    Sequence as Sequence,
)
from thalweg._src.keras.utils.generic import (
    Progbar as Progbar,
    get_file as get_file,
)

__all__ = [
    "CustomObjectScope",
    "Progbar",
    "Sequence",
    "custom_object_scope",
    "deserialize_keras_object",
    "get_custom_objects",
    "get_file",
    "normalize",
    "serialize_keras_object",
    "to_categorical",
]
