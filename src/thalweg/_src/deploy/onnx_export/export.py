"""ONNX models of sessions, SavedModels and frozen graphs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from thalweg._src.base.errors import invalid, require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.message_types import GraphDef
from thalweg._src.base.formats.text import PathLike
from thalweg._src.base.shapes import Shape, as_shape, compatible, merge, show
from thalweg._src.deploy.onnx_export.biases import quantize_biases
from thalweg._src.deploy.onnx_export.cleanup import clean
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter, OnnxNode
from thalweg._src.deploy.onnx_export.layout import move_transposes
from thalweg._src.deploy.onnx_export.model import build_model, import_onnx, save_model
from thalweg._src.deploy.onnx_export.pads import fold_pads
from thalweg._src.deploy.onnx_export.prepare import prepare
from thalweg._src.deploy.onnx_export.translate import translate
from thalweg._src.deploy.onnx_export.types import Type
from thalweg._src.deploy.saved_model.saved_model import load
from thalweg._src.deploy.saved_model.signatures import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.import_graph_def import import_graph_def
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.session.session import BaseSession, Session

Tensors = Mapping[str, Any] | Sequence[Any]  # tensors or their names, by the names that the model gives them


@export("onnx.from_session")
def from_session(
    session: BaseSession,
    inputs: Tensors,
    outputs: Tensors,
    path: PathLike | None = None,
    input_shapes: Mapping[str, Any] | None = None,
) -> Any:
    """Returns the ONNX model from some tensors of a session to others, with variables as constants."""
    require_members("session", session, "a session", "graph", "run")
    import_onnx()
    fed, fetched = _named(session.graph, inputs, "inputs"), _named(session.graph, outputs, "outputs")
    shapes = _shapes(fed, input_shapes or {})
    step, tables = prepare(session, list(fed.values()), list(fetched.values()), list(shapes.values()))
    w = GraphWriter()
    w.model.tables = tables
    for name, tensor in fed.items():
        w.model.types[w.unique(name)] = Type(tensor.dtype.base_dtype, shapes[name])
    w.inputs = list(fed)
    names = [w.unique(name) for name in fetched]
    if names != list(fetched):
        raise invalid(f"outputs: expected names other than those of the inputs, received {list(fetched)}")
    for name, value, (node, index) in zip(names, translate(w, step, w.inputs), step.fetches):
        if not isinstance(value, str):
            raise invalid(f"outputs: expected tensors, received {name!r}, an array or a table")
        _add_output(w, name, value, Type(node.dtypes[index].base_dtype, node.shapes[index]))
    clean(w)
    move_transposes(w)
    clean(w)
    fold_pads(w)
    quantize_biases(w)
    clean(w)
    model = build_model(w, "thalweg")
    if path is not None:
        save_model(model, os.fspath(path) if not isinstance(path, bytes) else path.decode())
    return model


def _add_output(w: GraphWriter, name: str, value: str, kind: Type) -> None:
    w.nodes.append(OnnxNode("Identity", name, [value], [name]))
    w.outputs.append(name)
    w.model.types[name] = kind


@export("onnx.from_saved_model")
def from_saved_model(
    export_dir: PathLike,
    signature: str = DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    path: PathLike | None = None,
    tags: Sequence[str] = ("serve",),
    input_shapes: Mapping[str, Any] | None = None,
    trusted: bool | None = None,
) -> Any:
    """Returns the ONNX model of a signature of a SavedModel, with the signature's names for inputs and outputs."""
    import_onnx()
    with Session(graph=Graph()) as session:
        loaded = load(session, list(tags), export_dir, trusted=trusted)
        if signature not in loaded.signature_def:
            keys = ", ".join(sorted(loaded.signature_def)) or "none"
            raise invalid(f"signature: expected one of the model's ({keys}), received {signature!r}")
        definition = loaded.signature_def[signature]
        inputs, outputs = _tensors(definition.inputs), _tensors(definition.outputs)
        return from_session(session, inputs, outputs, path, input_shapes)


def _tensors(infos: Mapping[str, Any]) -> dict[str, str]:
    """Returns the names of the tensors of a signature."""
    for name, info in infos.items():
        if not info.name:
            raise invalid(f"signature: expected dense tensors, received {name!r}, which is sparse or composite")
    return {name: info.name for name, info in sorted(infos.items())}


@export("onnx.from_graph_def")
def from_graph_def(
    graph_def: GraphDef,
    inputs: Tensors,
    outputs: Tensors,
    path: PathLike | None = None,
    input_shapes: Mapping[str, Any] | None = None,
    trusted: bool | None = None,
) -> Any:
    """Returns the ONNX model of a frozen graph, whose tensors are given by name."""
    import_onnx()
    with Graph().as_default() as graph:
        import_graph_def(graph_def, name="", trusted=trusted)
        with Session(graph=graph) as session:
            return from_session(session, inputs, outputs, path, input_shapes)


# -- arguments --------------------------------------------------------------------------------------------------------


def _named(graph: Graph, tensors: Tensors, what: str) -> dict[str, Tensor]:
    """Returns tensors by the names that they have in the model."""
    if isinstance(tensors, str | Tensor):
        raise TypeError(f"{what}: expected a list of tensors or a dictionary, received {tensors!r}")
    if isinstance(tensors, Mapping):
        return {name: _tensor(graph, element, what) for name, element in tensors.items()}
    tensors_by_name = {}
    for element in tensors:
        tensor = _tensor(graph, element, what)
        tensors_by_name[tensor.name.removesuffix(":0")] = tensor
    return tensors_by_name


def _tensor(graph: Graph, element: object, what: str) -> Tensor:
    if isinstance(element, str) and ":" not in element:
        element = f"{element}:0"
    try:
        return graph.as_graph_element(element, allow_operation=False)  # type: ignore[no-any-return]
    except (KeyError, TypeError, ValueError) as error:
        raise invalid(f"{what}: expected tensors of the graph or their names, received {element!r}: {error}") from None


def _shapes(inputs: Mapping[str, Tensor], input_shapes: Mapping[str, Any]) -> dict[str, Shape]:
    """Returns the shapes of the inputs, as far as they are known."""
    unknown = sorted(set(input_shapes) - set(inputs))
    if unknown:
        raise invalid(f"input_shapes: expected names of inputs ({', '.join(inputs)}), received {', '.join(unknown)}")
    shapes: dict[str, Shape] = {}
    for name, tensor in inputs.items():
        shape = as_shape(input_shapes.get(name))
        if not compatible(shape, tensor.dims):
            raise invalid(
                f"input_shapes: expected a shape of {name!r} that agrees with {show(tensor.dims)}, "
                f"received {show(shape)}"
            )
        shapes[name] = merge(tensor.dims, shape)
    return shapes
