"""`thalweg export`: models in the formats of other runtimes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click

from thalweg._src.cli.freeze import names, shown_errors
from thalweg._src.errors import format_bytes
from thalweg._src.onnx_export.export import from_graph_def, from_saved_model, from_session
from thalweg._src.saved_model.files import contains_saved_model
from thalweg._src.transform.files import read_graph_def


def shape(value: str) -> tuple[str, tuple[int | None, ...]]:
    """Parses the shape of an input: x=1,224,224,3, with ? for a size that is not known."""
    name, equals, sizes = value.rpartition("=")
    try:
        if not equals:
            raise ValueError
        return name, tuple(None if size.strip() == "?" else int(size) for size in sizes.split(",") if size.strip())
    except ValueError:
        raise click.BadParameter(f"{value!r} is no input with sizes, such as x=1,224,224,3 or x=?,10") from None


@click.command("export")
@click.argument("path", type=click.Path(exists=True))
@click.option("--onnx", "output", type=click.Path(dir_okay=False), required=True, help="File to write: model.onnx.")
@click.option("--tag-set", "--tag_set", "tags", type=names, default="serve", show_default=True, help="Of a SavedModel.")
@click.option(
    "--signature-def",
    "--signature_def",
    "signature",
    default="serving_default",
    show_default=True,
    help="Of a SavedModel.",
)
@click.option("--inputs", type=names, default="", help="Tensors of a graph that are fed: a,b.")
@click.option("--outputs", type=names, default="", help="Tensors of a graph that are fetched: a,b.")
@click.option("--checkpoint", metavar="PREFIX", help="Values of the variables. [default: PATH without .meta]")
@click.option("--shape", "shapes", type=shape, multiple=True, help="Sizes of an input: x=1,224,224,3. May be repeated.")
def export_command(
    path: str,
    output: str,
    tags: tuple[str, ...],
    signature: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    checkpoint: str | None,
    shapes: tuple[tuple[str, Any], ...],
) -> None:
    """Write a model for ONNX runtimes, with its variables as constants.

    PATH is the folder of a SavedModel, a MetaGraph (model.meta), a frozen GraphDef (graph.pb, graph.pbtxt) or a Keras
    model (model.h5).

    \b
    thalweg export export/1 --onnx model.onnx
    thalweg export frozen.pb --onnx model.onnx --inputs x --outputs softmax --shape x=1,224,224,3
    thalweg export model-1000.meta --onnx model.onnx --inputs x --outputs softmax
    """
    with shown_errors():
        sizes = dict(shapes)
        if os.path.isdir(path):
            if not contains_saved_model(path):
                raise click.UsageError(f"{path} contains no SavedModel: expected saved_model.pb in it")
            model = from_saved_model(path, signature, output, tags, sizes)
        elif path.endswith((".h5", ".hdf5", ".keras")):
            model = _from_keras(path, output, sizes)
        elif not inputs or not outputs:
            raise click.UsageError("--inputs, --outputs: expected the names of tensors; a file has no signatures")
        elif path.endswith(".meta"):
            model = _from_meta_graph(path, checkpoint or path.removesuffix(".meta"), inputs, outputs, output, sizes)
        else:
            model = from_graph_def(read_graph_def(path), inputs, outputs, output, sizes)
    for what, values in (("input", model.graph.input), ("output", model.graph.output)):
        for info in values:
            click.echo(f"{what} {info.name}: {_described(info)}")
    click.echo(f"{output}: {len(model.graph.node)} nodes, {format_bytes(model.ByteSize())}")


def _from_meta_graph(
    path: str,
    checkpoint: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    output: str,
    shapes: Mapping[str, Any],
) -> Any:
    import thalweg as tf

    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(path).restore(session, checkpoint)
        return from_session(session, inputs, outputs, output, shapes)


def _from_keras(path: str, output: str, shapes: Mapping[str, Any]) -> Any:
    import thalweg as tf

    with tf.Graph().as_default(), tf.Session() as session:
        tf.keras.backend.set_session(session)
        model = tf.keras.models.load_model(path, compile=False)
        return from_session(session, model.inputs, model.outputs, output, shapes)


def _described(info: Any) -> str:
    """Returns the type and the sizes of an input or an output."""
    kind = info.type.tensor_type
    sizes = ["?" if each.dim_param or not each.HasField("dim_value") else each.dim_value for each in kind.shape.dim]
    return f"{_type_name(kind.elem_type)} [{', '.join(map(str, sizes))}]"


def _type_name(number: int) -> str:
    from onnx import TensorProto

    return str(TensorProto.DataType.Name(number)).lower()
