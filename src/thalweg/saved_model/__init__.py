"""tf.saved_model: Saving and loading of SavedModels."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.deploy.saved_model.files import (
    ASSETS_DIRECTORY as ASSETS_DIRECTORY,
    ASSETS_KEY as ASSETS_KEY,
    DEBUG_DIRECTORY as DEBUG_DIRECTORY,
    DEBUG_INFO_FILENAME_PB as DEBUG_INFO_FILENAME_PB,
    GPU as GPU,
    LEGACY_INIT_OP_KEY as LEGACY_INIT_OP_KEY,
    MAIN_OP_KEY as MAIN_OP_KEY,
    SAVED_MODEL_FILENAME_PB as SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_FILENAME_PBTXT as SAVED_MODEL_FILENAME_PBTXT,
    SAVED_MODEL_SCHEMA_VERSION as SAVED_MODEL_SCHEMA_VERSION,
    SERVING as SERVING,
    TPU as TPU,
    TRAINING as TRAINING,
    VARIABLES_DIRECTORY as VARIABLES_DIRECTORY,
    VARIABLES_FILENAME as VARIABLES_FILENAME,
    contains_saved_model as contains_saved_model,
    contains_saved_model as maybe_saved_model_directory,
)
from thalweg._src.deploy.saved_model.objects import save as save
from thalweg._src.deploy.saved_model.saved_model import (
    SavedModelBuilder as Builder,
    load as load,
    main_op_with_restore as main_op_with_restore,
    simple_save as simple_save,
)
from thalweg._src.deploy.saved_model.signatures import (
    CLASSIFY_INPUTS as CLASSIFY_INPUTS,
    CLASSIFY_METHOD_NAME as CLASSIFY_METHOD_NAME,
    CLASSIFY_OUTPUT_CLASSES as CLASSIFY_OUTPUT_CLASSES,
    CLASSIFY_OUTPUT_SCORES as CLASSIFY_OUTPUT_SCORES,
    DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    PREDICT_INPUTS as PREDICT_INPUTS,
    PREDICT_METHOD_NAME as PREDICT_METHOD_NAME,
    PREDICT_OUTPUTS as PREDICT_OUTPUTS,
    REGRESS_INPUTS as REGRESS_INPUTS,
    REGRESS_METHOD_NAME as REGRESS_METHOD_NAME,
    REGRESS_OUTPUTS as REGRESS_OUTPUTS,
    build_signature_def as build_signature_def,
    build_tensor_info as build_tensor_info,
    classification_signature_def as classification_signature_def,
    get_tensor_from_tensor_info as get_tensor_from_tensor_info,
    is_valid_signature as is_valid_signature,
    predict_signature_def as predict_signature_def,
    regression_signature_def as regression_signature_def,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.saved_model import builder as builder
    from thalweg.saved_model import constants as constants
    from thalweg.saved_model import loader as loader
    from thalweg.saved_model import main_op as main_op
    from thalweg.saved_model import signature_constants as signature_constants
    from thalweg.saved_model import signature_def_utils as signature_def_utils
    from thalweg.saved_model import tag_constants as tag_constants
    from thalweg.saved_model import utils as utils

__getattr__, __dir__ = _lazy_names(
    __name__,
    [
        "builder", "constants", "loader", "main_op", "signature_constants", "signature_def_utils", "tag_constants",
        "utils",
    ],
    {},
)

__all__ = [
    "ASSETS_DIRECTORY", "ASSETS_KEY", "Builder", "CLASSIFY_INPUTS", "CLASSIFY_METHOD_NAME", "CLASSIFY_OUTPUT_CLASSES",
    "CLASSIFY_OUTPUT_SCORES", "DEBUG_DIRECTORY", "DEBUG_INFO_FILENAME_PB", "DEFAULT_SERVING_SIGNATURE_DEF_KEY", "GPU",
    "LEGACY_INIT_OP_KEY", "MAIN_OP_KEY", "PREDICT_INPUTS", "PREDICT_METHOD_NAME", "PREDICT_OUTPUTS", "REGRESS_INPUTS",
    "REGRESS_METHOD_NAME", "REGRESS_OUTPUTS", "SAVED_MODEL_FILENAME_PB", "SAVED_MODEL_FILENAME_PBTXT",
    "SAVED_MODEL_SCHEMA_VERSION", "SERVING", "TPU", "TRAINING", "VARIABLES_DIRECTORY", "VARIABLES_FILENAME",
    "build_signature_def", "build_tensor_info", "builder", "classification_signature_def", "constants",
    "contains_saved_model", "get_tensor_from_tensor_info", "is_valid_signature", "load", "loader", "main_op",
    "main_op_with_restore", "maybe_saved_model_directory", "predict_signature_def", "regression_signature_def", "save",
    "signature_constants", "signature_def_utils", "simple_save", "tag_constants", "utils",
]
