"""tf.keras.utils: Progress bars, batches and their workers, files, drawings, custom objects and arrays."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.engine.source_inputs import get_source_inputs as get_source_inputs
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
from thalweg._src.keras.utils.cached_files import get_file as get_file
from thalweg._src.keras.utils.data_utils import Sequence as Sequence
from thalweg._src.keras.utils.drawing import (
    model_to_dot as model_to_dot,
    plot_model as plot_model,
)
from thalweg._src.keras.utils.generic import Progbar as Progbar
from thalweg._src.keras.utils.hdf5_matrix import HDF5Matrix as HDF5Matrix
from thalweg._src.keras.utils.kernels import convert_all_kernels_in_model as convert_all_kernels_in_model
from thalweg._src.keras.utils.replicas import multi_gpu_model as multi_gpu_model
from thalweg._src.keras.utils.workers import (
    GeneratorEnqueuer as GeneratorEnqueuer,
    OrderedEnqueuer as OrderedEnqueuer,
    SequenceEnqueuer as SequenceEnqueuer,
)

__all__ = [
    "CustomObjectScope", "GeneratorEnqueuer", "HDF5Matrix", "OrderedEnqueuer", "Progbar", "Sequence",
    "SequenceEnqueuer", "convert_all_kernels_in_model", "custom_object_scope", "deserialize_keras_object",
    "get_custom_objects", "get_file", "get_source_inputs", "model_to_dot", "multi_gpu_model", "normalize", "plot_model",
    "serialize_keras_object", "to_categorical",
]
