"""Files of graphs for deployment: GraphDefs, and models of SavedModels and checkpoints, frozen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thalweg._src.base.formats import durable
from thalweg._src.base.formats.graph_messages import parse_text
from thalweg._src.base.formats.message_types import GraphDef
from thalweg._src.base.formats.regular import read_regular
from thalweg._src.base.formats.text import PathLike, as_text
from thalweg._src.deploy.saved_model.files import SERVING, meta_graph_with_tags, read_saved_model
from thalweg._src.deploy.saved_model.saved_model import load
from thalweg._src.deploy.saved_model.signatures import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.graph_def_checks import check_graph_def
from thalweg._src.graph.graphdef import message_type
from thalweg._src.runtime.session.freezing import frozen, source_of, variables_of
from thalweg._src.runtime.session.graph_util import convert_variables_to_constants, extract_sub_graph
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.checkpoint.meta_graph import read_meta_graph_file
from thalweg._src.training.checkpoint.reader import NewCheckpointReader
from thalweg._src.training.checkpoint.saver import Saver, import_meta_graph


@dataclass(frozen=True, slots=True)
class FrozenModel:
    """A graph without variables, with the names of the tensors that a signature feeds and fetches."""

    graph_def: GraphDef
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)


def read_graph_def(path: PathLike) -> GraphDef:
    """Reads a GraphDef, as text if the name of the file ends with .pbtxt."""
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    name = as_text(os.fspath(path))
    with durable.typed_errors(name):
        content = read_regular(name)
    try:
        kind, is_text = message_type("GraphDef"), name.endswith(".pbtxt")
        graph_def: GraphDef = parse_text(content.decode("utf-8"), kind()) if is_text else kind.FromString(content)
        return graph_def
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise OSError(
            f"{name} is not a GraphDef: {error}; expected a binary file, or text in a file named .pbtxt"
        ) from None


def write_graph_def(graph_def: GraphDef, path: PathLike) -> None:
    """Writes a GraphDef atomically, as text if the name of the file ends with .pbtxt."""
    from google.protobuf import text_format

    name = as_text(os.fspath(path))
    is_text = name.endswith(".pbtxt")
    content = text_format.MessageToString(graph_def).encode() if is_text else graph_def.SerializeToString()
    with durable.typed_errors(name):
        durable.write_file(name, content)


def signature_of(meta_graph: Any, key: str | None) -> Any:
    """Returns a signature of a MetaGraph, by default that for serving, or the only one."""
    keys = [name for name in meta_graph.signature_def if not name.startswith("__saved_model")]
    if key is None:
        key = keys[0] if len(keys) == 1 else DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if key not in meta_graph.signature_def:
        raise ValueError(f"the model has no signature {key!r}; expected one of {', '.join(sorted(keys)) or 'none'}")
    return meta_graph.signature_def[key]


def freeze_saved_model(
    export_dir: PathLike,
    tags: Iterable[str] = (SERVING,),
    signature_def_key: str | None = None,
    outputs: Iterable[str] = (),
    clear_devices: bool = False,
    trusted: bool | None = None,
) -> FrozenModel:
    """Returns the graph of a SavedModel with its variables as constants.

    It computes the outputs of a signature, or the given nodes.
    """
    message = meta_graph_with_tags(read_saved_model(export_dir), list(tags))
    names = list(outputs)
    signature = None if names else signature_of(message, signature_def_key)
    inputs = {} if signature is None else _names(signature.inputs)
    fetched = {name: name for name in names} if signature is None else _names(signature.outputs)
    with Graph().as_default(), Session() as session:
        load(session, list(tags), export_dir, trusted=trusted)
        frozen_graph = convert_variables_to_constants(
            session, message.graph_def, [source_of(name) for name in fetched.values()]
        )
    return FrozenModel(_without_devices(frozen_graph) if clear_devices else frozen_graph, inputs, fetched)


def _names(infos: Mapping[str, Any]) -> dict[str, str]:
    """Returns the names of tensors in a signature; a sparse one stands for its three parts."""
    names = {}
    for key, info in sorted(infos.items()):  # a message has them in any order
        if info.WhichOneof("encoding") == "coo_sparse":
            sparse = info.coo_sparse
            for component in ("values", "indices", "dense_shape"):
                names[f"{key}/{component}"] = getattr(sparse, f"{component}_tensor_name")
        else:
            names[key] = info.name
    return names


def freeze_meta_graph(
    path: PathLike,
    checkpoint: str,
    outputs: Iterable[str],
    clear_devices: bool = False,
    trusted: bool | None = None,
) -> GraphDef:
    """Returns the graph of a MetaGraph's file with the values of a checkpoint as constants."""
    message = read_meta_graph_file(path)
    with Graph().as_default(), Session() as session:
        saver = import_meta_graph(message, clear_devices=True, trusted=trusted) or Saver(allow_empty=True)
        saver.restore(session, checkpoint)
        frozen_graph = convert_variables_to_constants(session, message.graph_def, [source_of(name) for name in outputs])
    return _without_devices(frozen_graph) if clear_devices else frozen_graph


def freeze_graph_def(
    graph_def: GraphDef, checkpoint: str, outputs: Iterable[str], clear_devices: bool = False
) -> GraphDef:
    """Returns a graph with the values of a checkpoint, which names its variables as the graph does, as constants."""
    check_graph_def(graph_def)
    needed = extract_sub_graph(graph_def, [source_of(name) for name in outputs])
    reader = NewCheckpointReader(checkpoint)
    frozen_graph = frozen(needed, {name: reader.get_tensor(name) for name in variables_of(needed, None, None)})
    return _without_devices(frozen_graph) if clear_devices else frozen_graph


def _without_devices(graph_def: GraphDef) -> GraphDef:
    for node in graph_def.node:
        node.ClearField("device")
    return graph_def
