"""The ModelProto of a written graph."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.formats.message_types import Message
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter, OnnxNode
from thalweg._src.deploy.onnx_export.types import IR_VERSION, ML, ML_OPSET, OPSET, Type, number_of
from thalweg._src.graph.versions import THALWEG_VERSION

_EXTERNAL = 1 << 31  # bytes; a larger model needs its weights in a file of their own


def build_model(w: GraphWriter, name: str) -> Any:
    """Returns the checked ModelProto of a graph."""
    onnx = import_onnx()
    helper = onnx.helper
    used = {value for node in w.everything() for value in node.inputs} | set(w.outputs)
    used |= {value for node in w.everything() for graph in node.subgraphs() for value in graph.outputs}
    weights = [_tensor(onnx, key, value) for key, value in w.model.constants.items() if key in used]
    graph = _graph(onnx, w, name)
    graph.initializer.extend(weights)
    domains = {node.domain for node in w.everything()}
    versions = [helper.make_opsetid("", OPSET)]
    versions += [helper.make_opsetid(ML, ML_OPSET)] if ML in domains else []
    model = helper.make_model(
        graph,
        producer_name="thalweg",
        producer_version=THALWEG_VERSION,
        opset_imports=versions,
        ir_version=IR_VERSION,
    )
    _require_ranks(onnx, model)
    if model.ByteSize() < _EXTERNAL:
        onnx.checker.check_model(model, full_check=True)
    return model


def _require_ranks(onnx: ModuleType, model: Message) -> None:
    """Gives outputs whose rank is not known the one that ONNX infers; ONNX has no models without."""
    graph = model.graph
    unknown = [info for info in (*graph.input, *graph.output) if not info.type.tensor_type.HasField("shape")]
    if unknown:
        inferred = {info.name: info for info in onnx.shape_inference.infer_shapes(model).graph.output}
        for info in unknown:
            info.CopyFrom(inferred.get(info.name, info))
            if not info.type.tensor_type.HasField("shape"):
                raise errors.invalid(
                    f"ONNX export: expected a known number of axes of {info.name!r}, received an unknown one; "
                    "use tf.ensure_shape, or input_shapes for an input"
                )


def save_model(model: Message, path: str) -> None:
    """Writes a model to a file; weights of more than two gigabytes go to `path.data`."""
    onnx = import_onnx()
    try:
        if model.ByteSize() < _EXTERNAL:
            onnx.save_model(model, path)
        else:
            onnx.save_model(model, path, save_as_external_data=True, location=f"{path}.data".rpartition("/")[2])
    except OSError as error:
        raise errors.NotFoundError(None, None, f"cannot write {path}: {error.strerror}") from None


def import_onnx() -> Any:
    """Imports the package onnx, which only this feature needs."""
    try:
        import onnx
    except ImportError:
        raise errors.MissingPackageError("ONNX export", "onnx", "'thalweg[onnx]'") from None
    return onnx


def _graph(onnx: ModuleType, w: GraphWriter, name: str) -> Any:
    return onnx.helper.make_graph(
        [_node(onnx, node) for node in w.nodes],
        name,
        [_value_info(onnx, value, w.model.types[value]) for value in w.inputs],
        [_value_info(onnx, value, w.model.types[value]) for value in w.outputs],
    )


def _node(onnx: ModuleType, node: OnnxNode) -> Any:
    attrs = {
        key: _graph(onnx, value, f"{node.name}/{key}") if isinstance(value, GraphWriter) else value
        for key, value in node.attrs.items()
    }
    return onnx.helper.make_node(node.type, node.inputs, node.outputs, node.outputs[0], domain=node.domain, **attrs)


def _value_info(onnx: ModuleType, name: str, kind: Type) -> Any:
    helper = onnx.helper
    shape = None if kind.shape is None else _sizes(name, kind.shape)
    if kind.is_sequence:
        return helper.make_value_info(
            name, helper.make_sequence_type_proto(helper.make_tensor_type_proto(number_of(kind.dtype), None))
        )
    return helper.make_tensor_value_info(name, number_of(kind.dtype), shape)


def _sizes(name: str, shape: Sequence[int | None]) -> list[int | str]:
    """Returns the sizes of a value, with names for the unknown ones."""
    return [f"{name}_dim_{axis}" if size is None else size for axis, size in enumerate(shape)]


def _tensor(onnx: ModuleType, name: str, value: np.ndarray[Any, Any]) -> Any:
    if value.dtype == object or value.dtype.kind in "SU":
        strings = [
            element if isinstance(element, bytes) else str(element).encode() for element in value.ravel().tolist()
        ]
        return onnx.helper.make_tensor(name, number_of(dtypes.string), value.shape, strings)
    if value.dtype.name == "bfloat16":
        return onnx.helper.make_tensor(name, number_of(dtypes.bfloat16), value.shape, value.tobytes(), raw=True)
    return onnx.numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name)
