"""MetaGraphs: a graph with its collections, its variables and its Saver, in one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.errors import require_text
from thalweg._src.base.export import export
from thalweg._src.base.formats import durable
from thalweg._src.base.formats.graph_messages import parse_text
from thalweg._src.base.formats.regular import read_regular
from thalweg._src.base.formats.text import PathLike, as_text
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.foreign_ops import find_op
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.graphdef import to_graph_def, write_attr
from thalweg._src.graph.import_graph_def import import_graph_def
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.checkpoint.meta_graph_trust import require_trusted
from thalweg._src.training.variables.variables import Variable

VARIABLES = (
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.METRIC_VARIABLES,
    GraphKeys.CONCATENATED_VARIABLES,
    GraphKeys.GLOBAL_STEP,
    GraphKeys.TRAINABLE_RESOURCE_VARIABLES,
    GraphKeys.WEIGHTS,
    GraphKeys.BIASES,
)
ToProto = Callable[[Any, str | None], Any]
FromProto = Callable[[bytes, str | None], Any]
_members: dict[str, tuple[ToProto, FromProto]] = {}


def register_proto_function(collection_name: str, to_proto: ToProto, from_proto: FromProto) -> None:
    """Registers how members of a collection, such as queue runners, are converted to messages and back."""
    _members[collection_name] = to_proto, from_proto


def _meta_graph() -> Any:
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

    return MetaGraphDef()


# -- export -----------------------------------------------------------------------------------------------------------


@export("train.export_meta_graph")
def export_meta_graph(
    filename: PathLike | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> Any:
    """Returns a graph as a MetaGraphDef, and writes it to a file if one is given.

    Args:
        filename: Path of the file to write; None writes none.
        meta_info_def: A `MetaInfoDef` to include.
        graph_def: The GraphDef to export, in place of a graph.
        collection_list: Names of the collections to include; by default all.
        export_scope: Name scope to export; None exports all.
        clear_extraneous_savers: Whether other savers and their operations are removed.
        strip_default_attrs: Whether attributes with default values are removed.
        save_debug_info: Accepted for compatibility; no debug information is written.
        **kwargs: Further keyword arguments.
    """
    if kwargs:
        raise TypeError(f"export_meta_graph() got an unexpected keyword argument {next(iter(kwargs))!r}")
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f"graph: expected a tf.Graph, received {type(graph)}")
    graph = graph or get_default_graph()
    message = _meta_graph()
    if meta_info_def is not None:
        message.meta_info_def.MergeFrom(meta_info_def)
    message.meta_info_def.stripped_default_attrs = strip_default_attrs
    message.graph_def.CopyFrom(to_graph_def(graph, add_shapes=True) if graph_def is None else graph_def)
    if export_scope:
        require_text("export_scope", export_scope)
        _keep_scope(message.graph_def, export_scope)
    _adapt(message.graph_def, clear_devices, strip_default_attrs)
    if saver_def is not None:
        message.saver_def.MergeFrom(saver_def)
    chosen = graph.get_all_collection_keys() if collection_list is None else collection_list
    for key in chosen:
        _add_collection(message, graph, key, export_scope, clear_extraneous_savers)
    if filename:
        write_meta_graph(message, filename, as_text)
    return message


def write_meta_graph(message: Any, filename: PathLike, as_text: bool = False) -> None:
    """Writes a message to a file atomically."""
    from google.protobuf import text_format

    path = os.fspath(filename)
    content = text_format.MessageToString(message).encode() if as_text else message.SerializeToString()
    with durable.typed_errors(path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        durable.write_file(path, content)


def _adapt(graph_def: Any, clear_devices: bool, strip_default_attrs: bool) -> None:
    for node in graph_def.node:
        if clear_devices:
            node.device = ""
        if strip_default_attrs:
            definition = find_op(node.op)
            for key, default in definition.defaults.items():
                if key in node.attr and default is not None:
                    plain = type(node.attr[key])()
                    write_attr(plain, default, definition.attrs[key].kind)
                    if plain == node.attr[key]:
                        del node.attr[key]


def _keep_scope(graph_def: Any, scope: str) -> None:
    """Keeps the nodes of a scope, without its name; inputs from outside become inputs to be mapped."""
    prefix = f"{scope.rstrip('/')}/"
    scope_nodes = [node for node in graph_def.node if node.name.startswith(prefix)]
    for node in scope_nodes:
        node.name = node.name.removeprefix(prefix)
        inputs = list(node.input)
        del node.input[:]
        for text in inputs:
            mark = "^" if text.startswith("^") else ""
            inside = text.removeprefix("^").startswith(prefix)
            if inside:
                node.input.append(mark + text.removeprefix("^").removeprefix(prefix))
            elif not mark:
                raise ValueError(f"the scope {scope!r} uses {text!r} from outside, so it cannot be exported alone")
        if "_class" in node.attr:
            groups = [g for g in node.attr["_class"].list.s if g.startswith(f"loc:@{prefix}".encode())]
            del node.attr["_class"].list.s[:]
            node.attr["_class"].list.s.extend(b"loc:@" + g.removeprefix(f"loc:@{prefix}".encode()) for g in groups)
            if not groups:
                del node.attr["_class"]
    nodes = [type(node).FromString(node.SerializeToString()) for node in scope_nodes]
    del graph_def.node[:]
    graph_def.node.extend(nodes)


def _add_collection(message: Any, graph: Graph, key: str, scope: str | None, no_savers: bool) -> None:
    """Adds a collection; one that cannot be serialized is skipped with a warning."""
    if not isinstance(key, str) or key == GraphKeys.SAVEABLE_OBJECTS or (no_savers and key == GraphKeys.SAVERS):
        return
    members = graph.get_collection(key)
    collection_def: Any = type(message.collection_def[key])() if members else None
    try:
        for member in members:
            kind = collection_def.WhichOneof("kind")
            _add_member(collection_def, key, member, scope)
            if kind and collection_def.WhichOneof("kind") != kind:
                raise TypeError(f"{member!r} does not fit in the {kind} of the members before it")
    except (TypeError, ValueError, AttributeError) as error:
        logging.warning("the collection %s is left out of the MetaGraph: %s", key, error)
        collection_def = None
    if collection_def is None or not collection_def.WhichOneof("kind"):
        if key in message.collection_def:
            del message.collection_def[key]
    else:
        message.collection_def[key].CopyFrom(collection_def)


def _add_member(collection_def: Any, key: str, member: object, scope: str | None) -> None:
    if isinstance(member, Variable) and key in VARIABLES:
        proto = member.to_proto(scope)
    elif key in _members:
        proto = _members[key][0](member, scope)
    elif isinstance(member, Tensor | Operation | Variable):
        prefix = f"{scope.rstrip('/')}/" if scope else ""
        if member.name.startswith(prefix):
            collection_def.node_list.value.append(member.name.removeprefix(prefix))
        return
    elif isinstance(member, str | bytes):
        collection_def.bytes_list.value.append(member.encode() if isinstance(member, str) else member)
        return
    elif getattr(getattr(member, "DESCRIPTOR", None), "name", "") == "Any":  # such as the assets of a SavedModel
        collection_def.any_list.value.append(member)
        return
    elif isinstance(member, int):
        collection_def.int64_list.value.append(member)
        return
    elif isinstance(member, float):
        collection_def.float_list.value.append(member)
        return
    elif hasattr(member, "to_proto"):
        proto = member.to_proto(scope) if scope else member.to_proto()
    else:
        raise TypeError(f"a {type(member).__name__} cannot be converted to a message")
    if proto is not None:
        collection_def.bytes_list.value.append(proto.SerializeToString())


# -- import -----------------------------------------------------------------------------------------------------------


def read_meta_graph_file(filename: PathLike) -> Any:
    """Reads the MetaGraphDef of a file, binary or text."""
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    path = os.fspath(filename)
    if not os.path.exists(path):
        raise OSError(f"File {path} does not exist.")
    with durable.typed_errors(path):
        content = read_regular(path)
    try:
        return type(_meta_graph()).FromString(content)
    except DecodeError:
        pass
    try:
        return parse_text(content.decode("utf-8"), _meta_graph())
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from None


def import_elements(
    message: Any,
    clear_devices: bool,
    scope: str | None,
    return_elements: Sequence[str] | None,
    input_map: dict[str, Any] | None,
    trusted: bool | None,
) -> Any:
    """Adds the graph and the collections of a MetaGraphDef to the default graph; returns the elements asked for."""
    require_trusted(message, VARIABLES, trusted)
    graph = get_default_graph()
    graph_def = type(message.graph_def)()
    graph_def.CopyFrom(message.graph_def)
    if clear_devices:
        for node in graph_def.node:
            node.device = ""
    ops = message.meta_info_def.stripped_op_list if message.meta_info_def.HasField("stripped_op_list") else None
    if scope and f"{graph.get_name_scope()}/{scope}".lstrip("/").lower() in graph._names_in_use:
        raise ValueError(f"import_scope: the name {scope!r} is taken; choose another one")
    elements = import_graph_def(
        graph_def, input_map, return_elements, name=scope or "", producer_op_list=ops, trusted=trusted or None
    )
    outer = graph.get_name_scope()
    full = "/".join(scope_name for scope_name in (outer, scope) if scope_name) or None
    variables: dict[str, Variable] = {}
    # Variables first: other collections may name them.
    for key, definition in sorted(message.collection_def.items(), key=lambda item: (item[0] not in VARIABLES, item[0])):
        kind = definition.WhichOneof("kind")
        if kind is None:
            logging.warning("the collection %s of the MetaGraph has members of no known kind, and is left out", key)
            continue
        try:
            members = _members_of(graph, key, kind, getattr(definition, kind).value, full, variables)
        except Exception as error:
            error.add_note(f"in the collection {key!r} of the MetaGraph")
            raise
        for member in members:
            graph.add_to_collection(key, member)
    return elements


def _members_of(
    graph: Graph, key: str, kind: str, values: Iterable[Any], scope: str | None, variables: dict[str, Variable]
) -> list[Any]:
    if kind == "node_list":
        return [_node(graph, f"{scope}/{name}" if scope else name, variables) for name in map(as_text, values)]
    if kind != "bytes_list":
        return list(values)
    if key in _members:
        return [_members[key][1](value, scope) for value in values]
    return [_variable(value, scope, variables) if key in VARIABLES else value for value in values]


def _node(graph: Graph, name: str, variables: dict[str, Variable]) -> Any:
    """Returns the tensor or operation of a name; the variable, where the tensor is its handle."""
    element = graph.as_graph_element(name)
    if isinstance(element, Tensor) and element.op.type == "VarHandleOp":
        return next((variable for variable in variables.values() if variable._handle is element), element)
    return element


def _variable(value: bytes, scope: str | None, variables: dict[str, Variable]) -> Variable:
    """Returns the variable of a message; a variable in several collections is one object."""
    from tensorboard.compat.proto.variable_pb2 import VariableDef

    message = VariableDef.FromString(value)
    if message.variable_name not in variables:
        variables[message.variable_name] = Variable.from_proto(message, scope)
    return variables[message.variable_name]
