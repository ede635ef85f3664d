"""`thalweg export`: models in the formats of other runtimes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from thalweg._src.base.errors import format_bytes
from thalweg._src.base.shapes import Shape
from thalweg._src.deploy.onnx_export.export import from_graph_def, from_saved_model, from_session
from thalweg._src.deploy.quantize.calibrate import calibrate
from thalweg._src.deploy.quantize.sample_files import read_samples
from thalweg._src.deploy.saved_model.files import contains_saved_model
from thalweg._src.deploy.transform.files import FrozenModel, freeze_meta_graph, freeze_saved_model, read_graph_def
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.import_graph_def import import_graph_def
from thalweg._src.runtime.session.freezing import source_of
from thalweg._src.runtime.session.graph_util import convert_variables_to_constants
from thalweg._src.tools.cli.freeze import names, printable, shown_errors, trusted_option


def shape(value: str) -> tuple[str, tuple[int | None, ...]]:
    """Parses the shape of an input: x=1,224,224,3, with ? for a size that is not known."""
    name, equals, sizes = value.rpartition("=")
    try:
        if not equals:
            raise ValueError
        return name, tuple(None if size.strip() == "?" else int(size) for size in sizes.split(",") if size.strip())
    except ValueError:
        raise click.BadParameter(f"{value!r} is not an input with sizes, such as x=1,224,224,3 or x=?,10") from None


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
@click.option(
    "--calibrate",
    "samples",
    type=click.Path(exists=True, dir_okay=False),
    help="Quantize to 8 bits, with ranges of samples: .npz by the names of inputs, or .npy of the only one.",
)
@trusted_option
def export_command(
    path: str,
    output: str,
    tags: tuple[str, ...],
    signature: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    checkpoint: str | None,
    shapes: tuple[tuple[str, Any], ...],
    samples: str | None,
    trusted: bool | None,
) -> None:
    """Write a model for ONNX runtimes, with its variables as constants.

    PATH is the folder of a SavedModel, a MetaGraph (model.meta), a frozen GraphDef (graph.pb, graph.pbtxt) or a Keras
    model (model.h5).

    \b
    thalweg export export/1 --onnx model.onnx
    thalweg export frozen.pb --onnx model.onnx --inputs x --outputs softmax --shape x=1,224,224,3
    thalweg export model-1000.meta --onnx model.onnx --inputs x --outputs softmax
    thalweg export export/1 --onnx small.onnx --calibrate samples.npz
    """
    with shown_errors():
        sizes, size = dict(shapes), ""
        if os.path.isdir(path) and not contains_saved_model(path):
            raise click.UsageError(f"{path} contains no SavedModel: expected saved_model.pb in it")
        if not os.path.isdir(path) and not _is_keras(path) and not (inputs and outputs):
            raise click.UsageError("--inputs, --outputs: expected the names of tensors; a file has no signatures")
        if samples is not None:
            frozen = _frozen(path, tags, signature, inputs, outputs, checkpoint, trusted)
            batches = read_samples(samples, _shapes(frozen))
            calibrated = calibrate(frozen.graph_def, batches, frozen.inputs, frozen.outputs)
            model = from_graph_def(calibrated.graph_def, calibrated.inputs, calibrated.outputs, output, sizes)
            size = f"; {format_bytes(calibrated.original.ByteSize())} before quantization"
        elif os.path.isdir(path):
            model = from_saved_model(path, signature, output, tags, sizes, trusted)
        elif _is_keras(path):
            with _keras_model(path, trusted) as (session, keras):
                model = from_session(session, keras.inputs, keras.outputs, output, sizes)
        elif path.endswith(".meta"):
            prefix = checkpoint or path.removesuffix(".meta")
            model = _from_meta_graph(path, prefix, inputs, outputs, output, sizes, trusted)
        else:
            model = from_graph_def(read_graph_def(path), inputs, outputs, output, sizes, trusted)
    for what, values in (("input", model.graph.input), ("output", model.graph.output)):
        for info in values:
            click.echo(printable(f"{what} {info.name}: {_described(info)}"))
    click.echo(f"{output}: {len(model.graph.node)} nodes, {format_bytes(model.ByteSize())}{size}")


def _from_meta_graph(
    path: str,
    checkpoint: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    output: str,
    shapes: Mapping[str, Any],
    trusted: bool | None,
) -> Any:
    import thalweg as tf

    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(path, trusted=trusted).restore(session, checkpoint)
        return from_session(session, inputs, outputs, output, shapes)


def _is_keras(path: str) -> bool:
    return path.endswith((".h5", ".hdf5", ".keras"))


@contextmanager
def _keras_model(path: str, trusted: bool | None) -> Iterator[tuple[Any, Any]]:
    """Yields a session, and the Keras model of a file in it, for inference."""
    import thalweg as tf

    with tf.Graph().as_default(), tf.Session() as session:
        tf.keras.backend.set_session(session)
        tf.keras.backend.set_learning_phase(0)
        yield session, tf.keras.models.load_model(path, compile=False, trusted=trusted)


# -- quantization -----------------------------------------------------------------------------------------------------


def _frozen(
    path: str,
    tags: tuple[str, ...],
    signature: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    checkpoint: str | None,
    trusted: bool | None,
) -> FrozenModel:
    """Returns a model with its variables as constants; inputs and outputs have the names of the ONNX model."""
    if os.path.isdir(path):
        return freeze_saved_model(path, tags, signature, trusted=trusted)
    if _is_keras(path):
        with _keras_model(path, trusted) as (session, keras):
            inputs, outputs = (tuple(tensor.name for tensor in tensors) for tensors in (keras.inputs, keras.outputs))
            nodes = [source_of(name) for name in outputs]
            graph_def = convert_variables_to_constants(session, session.graph.as_graph_def(), nodes)
    elif path.endswith(".meta"):
        graph_def = freeze_meta_graph(path, checkpoint or path.removesuffix(".meta"), outputs, trusted=trusted)
    else:
        graph_def = read_graph_def(path)
    return FrozenModel(graph_def, *({name.removesuffix(":0"): name for name in names} for names in (inputs, outputs)))


def _shapes(model: FrozenModel) -> dict[str, Shape]:
    """Returns the shapes of a model's inputs."""
    with Graph().as_default() as graph:
        import_graph_def(model.graph_def, name="")

    def shape_of(what: str, name: str) -> Shape:
        try:
            return graph.get_tensor_by_name(name if ":" in name else f"{name}:0").dims
        except (KeyError, ValueError):
            raise click.UsageError(f"{what}: expected tensors of the graph, received {name!r}") from None

    for name in model.outputs.values():
        shape_of("--outputs", name)
    return {key: shape_of("--inputs", name) for key, name in model.inputs.items()}


# -- the report -------------------------------------------------------------------------------------------------------


def _described(info: Any) -> str:
    """Returns the type and the sizes of an input or an output."""
    kind = info.type.tensor_type
    sizes = ["?" if dim.dim_param or not dim.HasField("dim_value") else dim.dim_value for dim in kind.shape.dim]
    return f"{_type_name(kind.elem_type)} [{', '.join(map(str, sizes))}]"


def _type_name(number: int) -> str:
    from onnx import TensorProto

    return str(TensorProto.DataType.Name(number)).lower()
