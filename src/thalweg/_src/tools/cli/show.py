"""`thalweg show`: the signatures of a SavedModel, or the nodes of a GraphDef."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import click

from thalweg._src.base.dtypes import as_dtype
from thalweg._src.base.shapes import TensorShape, num_elements
from thalweg._src.deploy.saved_model.files import meta_graph_with_tags, read_saved_model
from thalweg._src.deploy.transform.files import read_graph_def, signature_of
from thalweg._src.runtime.session.freezing import is_variable, source_of
from thalweg._src.tools.cli.freeze import names, printable, shown_errors

_HIDDEN = "__saved_model"  # the start of keys of signatures that loaders call


@click.command("show")
@click.argument("path", type=click.Path(exists=True))
@click.option("--tag-set", "--tag_set", "tags", type=names, help="Show the graph with these tags: serve,gpu.")
@click.option("--signature-def", "--signature_def", "signature", help="Show this signature of the graph.")
@click.option("--all", "shows_all", is_flag=True, help="Show all graphs with all their signatures.")
def show_command(path: str, tags: tuple[str, ...] | None, signature: str | None, shows_all: bool) -> None:
    """Show what a SavedModel contains: its graphs by their tags, their signatures, inputs and outputs.

    PATH is the folder of a SavedModel, or a file of a GraphDef (.pb, .pbtxt), of which a summary is shown.

    \b
    thalweg show export/1 --all
    thalweg show export/1 --tag_set serve --signature_def serving_default
    """
    with shown_errors():
        if not os.path.isdir(path):
            lines = _graph_lines(read_graph_def(path))
        elif shows_all:
            lines = _all_lines(read_saved_model(path))
        elif tags is None:
            if signature is not None:
                raise click.UsageError("--signature_def needs --tag_set, which says of which graph")
            lines = _tag_lines(read_saved_model(path))
        else:
            meta_graph = meta_graph_with_tags(read_saved_model(path), tags)
            lines = _key_lines(meta_graph)
            if signature is not None:
                lines = signature_lines(signature_of(meta_graph, signature))
        for line in lines:
            click.echo(printable(line))


def _tag_lines(message: Any) -> Iterator[str]:
    yield "Tag sets of the SavedModel:"
    for meta_graph in message.meta_graphs:
        yield _tag_set(meta_graph)


def _tag_set(meta_graph: Any) -> str:
    return ", ".join(repr(str(tag)) for tag in sorted(meta_graph.meta_info_def.tags))


def _keys(meta_graph: Any) -> list[str]:
    return sorted(key for key in meta_graph.signature_def if not key.startswith(_HIDDEN))


def _key_lines(meta_graph: object) -> Iterator[str]:
    yield "Signatures of the graph:"
    for key in _keys(meta_graph):
        yield f'SignatureDef key: "{key}"'


def _all_lines(message: Any) -> Iterator[str]:
    for meta_graph in message.meta_graphs:
        yield f"Graph with tag set: {_tag_set(meta_graph)}"
        for key in _keys(meta_graph):
            yield f"\nsignature_def['{key}']:"
            yield from (f"  {line}" for line in signature_lines(meta_graph.signature_def[key]))
        yield ""


def signature_lines(signature: Any) -> Iterator[str]:
    """Yields the lines about a signature: names, types and shapes of its tensors."""
    for what, infos in (("inputs", signature.inputs), ("outputs", signature.outputs)):
        for key in sorted(infos):
            yield f"{what}['{key}'] tensor_info:"
            yield from (f"    {name}: {value}" for name, value in _tensor_lines(infos[key]).items())
    yield f"Method name: {signature.method_name}"


def _tensor_lines(info: Any) -> Mapping[str, str]:
    from tensorboard.compat.proto.types_pb2 import DataType

    shape = TensorShape(info.tensor_shape)
    sizes = "unknown_rank" if shape.ndims is None else str(tuple(-1 if s is None else s for s in shape.as_list()))
    lines = {"dtype": DataType.Name(info.dtype), "shape": sizes}
    if info.WhichOneof("encoding") == "coo_sparse":
        components = ("values", "indices", "dense_shape")
        return {
            **lines,
            **{component: getattr(info.coo_sparse, f"{component}_tensor_name") for component in components},
        }
    return {**lines, "name": info.name}


def _graph_lines(graph_def: Any) -> Iterator[str]:
    """Yields the likely inputs and outputs of a graph, its size, and how often each type of node occurs."""
    used = {source_of(text) for node in graph_def.node for text in node.input}
    for node in graph_def.node:
        if node.op.startswith("Placeholder"):
            yield f"input {node.name}: {as_dtype(node.attr['dtype'].type).name} {_shape_text(node)}"
    for node in graph_def.node:
        if node.name not in used and node.op not in ("Const", "NoOp", "Assign"):
            yield f"output {node.name}: {node.op}"
    constants = [node.attr["value"].tensor.tensor_shape for node in graph_def.node if node.op == "Const"]
    elements = sum(num_elements(tuple(dim.size for dim in shape.dim)) or 0 for shape in constants)
    variables = sum(is_variable(node) for node in graph_def.node)
    yield f"{len(graph_def.node)} nodes, {variables} variables, {elements} elements of constants"
    for op, count in Counter(node.op for node in graph_def.node).most_common():
        yield f"{count:7} {op}"


def _shape_text(node: Any) -> str:
    return str(TensorShape(node.attr["shape"].shape)) if "shape" in node.attr else "<unknown>"
