"""`tensorflow.python.tools.freeze_graph`: a graph and a checkpoint as one GraphDef without variables."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.formats.gfile import GFile
from thalweg._src.base.formats.graph_messages import parse_text
from thalweg._src.deploy.saved_model.files import meta_graph_with_tags, read_saved_model
from thalweg._src.deploy.saved_model.saved_model import load
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.graphdef import message_type
from thalweg._src.graph.import_graph_def import import_graph_def
from thalweg._src.runtime.session.freezing import frozen, variables_of
from thalweg._src.runtime.session.graph_util import convert_variables_to_constants, extract_sub_graph
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.checkpoint.meta_graph import read_meta_graph_file
from thalweg._src.training.checkpoint.reader import NewCheckpointReader
from thalweg._src.training.checkpoint.saver import Saver, import_meta_graph


def freeze_graph(
    input_graph: str,
    input_saver: str,
    input_binary: bool,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: str | None = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: str = "serve",
    checkpoint_version: int = 2,
) -> Any:
    """Freezes the graph in a file, of a GraphDef, a MetaGraphDef or a SavedModel, and writes it to another file."""
    graph_def = _read(input_graph, message_type("GraphDef")(), input_binary) if input_graph else None
    meta_graph = read_meta_graph_file(input_meta_graph) if input_meta_graph else None
    if input_saver:
        raise ValueError("input_saver: a checkpoint is read without a SaverDef; pass an empty string")
    return freeze_graph_with_def_protos(
        graph_def,
        None,
        input_checkpoint,
        output_node_names,
        restore_op_name,
        filename_tensor_name,
        output_graph,
        clear_devices,
        initializer_nodes,
        variable_names_whitelist,
        variable_names_blacklist,
        meta_graph,
        input_saved_model_dir,
        [tag for tag in saved_model_tags.replace(" ", "").split(",") if tag],
        checkpoint_version,
    )


def _read(path: str, message: Any, is_binary: bool) -> Any:
    """Returns the message in a file, in protobuf's binary form or as text."""
    if is_binary:
        message.ParseFromString(GFile(path, "rb").read())
        return message
    return parse_text(GFile(path, "r").read(), message)


def freeze_graph_with_def_protos(
    input_graph_def: Any,
    input_saver_def: Any,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph_def: Any = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: Collection[str] | None = None,
    checkpoint_version: int = 2,
) -> Any:
    """Freezes a graph, writes it to a file if one is given, and returns it.

    The values are those of the checkpoint or the SavedModel, after the initializer nodes have run, if any are given.
    """
    outputs = _names(output_node_names)
    if not outputs:
        raise ValueError("output_node_names: name the nodes that are kept, separated by commas")
    tags = list(saved_model_tags or ["serve"])
    source = input_graph_def
    if input_meta_graph_def is not None:
        source = input_meta_graph_def.graph_def
    elif input_saved_model_dir:
        source = meta_graph_with_tags(read_saved_model(input_saved_model_dir), tags).graph_def
    for node in source.node if clear_devices else ():
        node.device = ""
    lists = _names(variable_names_whitelist) or None, _names(variable_names_blacklist) or None
    if input_saved_model_dir or input_meta_graph_def is not None or initializer_nodes:
        with Graph().as_default(), Session() as session:
            if input_saved_model_dir:
                load(session, tags, input_saved_model_dir)
            elif input_meta_graph_def is not None:
                saver = import_meta_graph(input_meta_graph_def, clear_devices) or Saver()
                saver.restore(session, input_checkpoint)
            else:
                import_graph_def(source, name="")
            for name in _names(initializer_nodes):
                session.run(name)
            result = convert_variables_to_constants(session, source, outputs, *lists)
    else:
        reader, subgraph = NewCheckpointReader(input_checkpoint), extract_sub_graph(source, outputs)
        result = frozen(subgraph, {name: reader.get_tensor(name) for name in variables_of(subgraph, *lists)})
    if output_graph:
        with GFile(output_graph, "wb") as file:
            file.write(result.SerializeToString())
    logging.info("the frozen graph has %d operations", len(result.node))
    return result


def _names(text: str | None) -> list[str]:
    """Returns the names in a text that commas separate."""
    return [name for name in (text or "").replace(" ", "").split(",") if name]
