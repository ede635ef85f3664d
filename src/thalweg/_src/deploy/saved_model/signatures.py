"""Signatures: the inputs and outputs of a SavedModel, by the names that clients use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import require_kind, require_members
from thalweg._src.base.export import export, export_all_constants
from thalweg._src.base.shapes import as_shape
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.graphdef import message_type
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.tensor_proto import shape_proto
from thalweg._src.graph.types import TensorLike

DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
CLASSIFY_INPUTS = "inputs"
CLASSIFY_METHOD_NAME = "tensorflow/serving/classify"
CLASSIFY_OUTPUT_CLASSES = "classes"
CLASSIFY_OUTPUT_SCORES = "scores"
PREDICT_INPUTS = "inputs"
PREDICT_METHOD_NAME = "tensorflow/serving/predict"
PREDICT_OUTPUTS = "outputs"
REGRESS_INPUTS = "inputs"
REGRESS_METHOD_NAME = "tensorflow/serving/regress"
REGRESS_OUTPUTS = "outputs"

export_all_constants("saved_model", "saved_model.signature_constants")

# -- tensors ----------------------------------------------------------------------------------------------------------


@export("saved_model.build_tensor_info", "saved_model.utils.build_tensor_info")
def build_tensor_info(tensor: TensorLike | SparseTensor) -> Any:
    """Returns name, type and shape of a tensor, dense or sparse, as a TensorInfo."""
    if isinstance(tensor, SparseTensor):
        message = _tensor_info(tensor.dtype, as_shape(tensor.get_shape()))
        message.coo_sparse.values_tensor_name = tensor.values.name
        message.coo_sparse.indices_tensor_name = tensor.indices.name
        message.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
        return message
    dense = get_default_graph().as_graph_element(tensor, allow_operation=False)  # for a variable, its read
    message = _tensor_info(dense.dtype, dense.dims)
    message.name = dense.name
    return message


def _tensor_info(dtype: DType, shape: Any) -> Any:
    return message_type("TensorInfo")(dtype=dtype.base_dtype.as_datatype_enum, tensor_shape=shape_proto(shape))


@export("saved_model.get_tensor_from_tensor_info", "saved_model.utils.get_tensor_from_tensor_info")
def get_tensor_from_tensor_info(tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None) -> Any:
    """Returns the tensor that a TensorInfo names, within the import scope if one is given.

    Args:
        tensor_info: The `TensorInfo`.
        import_scope: Name scope that the graph was imported under.
    """
    graph = graph or get_default_graph()

    def tensor_named(name: str) -> Tensor:
        return graph.get_tensor_by_name(f"{import_scope.rstrip('/')}/{name}" if import_scope else name)

    require_members("tensor_info", tensor_info, "a TensorInfo message", "WhichOneof")
    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return tensor_named(tensor_info.name)
    if encoding == "coo_sparse":
        sparse = tensor_info.coo_sparse
        names = sparse.indices_tensor_name, sparse.values_tensor_name, sparse.dense_shape_tensor_name
        return SparseTensor(*map(tensor_named, names))
    raise ValueError(f"tensor_info: expected the name of a tensor or a sparse tensor, received {encoding}")


# -- signatures -------------------------------------------------------------------------------------------------------


@export("saved_model.build_signature_def", "saved_model.signature_def_utils.build_signature_def")
def build_signature_def(
    inputs: Mapping[str, Any] | None = None, outputs: Mapping[str, Any] | None = None, method_name: str | None = None
) -> Any:
    """Returns a signature of inputs and outputs, each a TensorInfo under a name.

    Args:
        outputs: Outputs by name.
        method_name: Name of the method that the signature serves.
    """
    message = message_type("SignatureDef")(method_name=method_name)
    for argument, infos in (("inputs", inputs), ("outputs", outputs)):
        require_kind(argument, infos or {}, Mapping, "a dict of TensorInfo messages")
    for key, info in (inputs or {}).items():
        message.inputs[key].CopyFrom(info)
    for key, info in (outputs or {}).items():
        message.outputs[key].CopyFrom(info)
    return message


@export("saved_model.predict_signature_def", "saved_model.signature_def_utils.predict_signature_def")
def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """Returns a signature with arbitrary inputs and outputs, tensors under names.

    Args:
        outputs: Outputs by name.
    """
    if not inputs:
        raise ValueError("Prediction inputs cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction outputs cannot be None or empty.")
    require_kind("inputs", inputs, Mapping, "a dict of tensors")
    require_kind("outputs", outputs, Mapping, "a dict of tensors")
    taken = {key: build_tensor_info(tensor) for key, tensor in inputs.items()}
    infos = {key: build_tensor_info(tensor) for key, tensor in outputs.items()}
    return build_signature_def(taken, infos, PREDICT_METHOD_NAME)


@export("saved_model.regression_signature_def", "saved_model.signature_def_utils.regression_signature_def")
def regression_signature_def(examples: TensorLike, predictions: TensorLike) -> Any:
    """Returns a signature from serialized examples to one number each.

    Args:
        examples: The tensor that takes serialized Examples.
        predictions: The tensor of predictions.
    """
    if examples is None:
        raise ValueError("Regression examples cannot be None.")
    if not hasattr(examples, "graph"):
        raise ValueError(f"Regression examples must be a Tensor, received {examples!r}")
    if predictions is None:
        raise ValueError("Regression predictions cannot be None.")
    return build_signature_def(
        {REGRESS_INPUTS: _info_of(examples, dtypes.string, "Regression inputs")},
        {REGRESS_OUTPUTS: _info_of(predictions, dtypes.float32, "Regression outputs")},
        REGRESS_METHOD_NAME,
    )


@export("saved_model.classification_signature_def", "saved_model.signature_def_utils.classification_signature_def")
def classification_signature_def(examples: TensorLike, classes: TensorLike | None, scores: TensorLike | None) -> Any:
    """Returns a signature from serialized examples to classes, scores or both.

    Args:
        examples: The tensor that takes serialized Examples.
        classes: The tensor of classes, or None.
        scores: The tensor of scores, or None.
    """
    if examples is None:
        raise ValueError("Classification examples cannot be None.")
    if not hasattr(examples, "graph"):
        raise ValueError(f"Classification examples must be a Tensor, received {examples!r}")
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    outputs = {}
    if classes is not None:
        outputs[CLASSIFY_OUTPUT_CLASSES] = _info_of(classes, dtypes.string, "Classification classes")
    if scores is not None:
        outputs[CLASSIFY_OUTPUT_SCORES] = _info_of(scores, dtypes.float32, "Classification scores")
    inputs = {CLASSIFY_INPUTS: _info_of(examples, dtypes.string, "Classification inputs")}
    return build_signature_def(inputs, outputs, CLASSIFY_METHOD_NAME)


def _info_of(tensor: Any, dtype: DType, what: str) -> Any:
    info = build_tensor_info(tensor)
    if info.dtype != dtype.as_datatype_enum:
        raise ValueError(f"{what} must be of type {dtype.name}, received {dtypes.as_dtype(info.dtype).name}")
    return info


@export("saved_model.is_valid_signature", "saved_model.signature_def_utils.is_valid_signature")
def is_valid_signature(signature_def: Any) -> bool:
    """Returns whether a signature has the inputs and outputs that its method requires."""
    if signature_def is not None:
        require_members("signature_def", signature_def, "a SignatureDef message", "inputs", "outputs")
    if signature_def is None or not signature_def.inputs or not signature_def.outputs:
        return False
    if signature_def.method_name == PREDICT_METHOD_NAME:
        return True
    string, number = dtypes.string.as_datatype_enum, dtypes.float32.as_datatype_enum
    if signature_def.method_name == REGRESS_METHOD_NAME:
        types, needed = {REGRESS_OUTPUTS: number}, {REGRESS_OUTPUTS}
    elif signature_def.method_name == CLASSIFY_METHOD_NAME:
        types, needed = {CLASSIFY_OUTPUT_CLASSES: string, CLASSIFY_OUTPUT_SCORES: number}, set()
    else:
        return False
    inputs = {key: info.dtype for key, info in signature_def.inputs.items()}
    outputs = {key: info.dtype for key, info in signature_def.outputs.items()}
    return inputs == {CLASSIFY_INPUTS: string} and needed <= set(outputs) and outputs.items() <= types.items()
