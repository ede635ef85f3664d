"""`thalweg freeze` and `thalweg optimize`: graphs for deployment, in files."""

from __future__ import annotations

import os
from typing import Any

import click

from thalweg._src.base.errors import MissingPackageError, OpError, format_bytes
from thalweg._src.deploy.saved_model.files import contains_saved_model
from thalweg._src.deploy.transform.apply import TransformGraph
from thalweg._src.deploy.transform.files import (
    freeze_graph_def,
    freeze_meta_graph,
    freeze_saved_model,
    read_graph_def,
    write_graph_def,
)
from thalweg._src.deploy.transform.registry import TRANSFORMS

ERRORS = (OpError, OSError, ValueError, TypeError, AssertionError, RuntimeError, KeyError, MissingPackageError)


def names(value: str | None) -> tuple[str, ...]:
    """Parses names that are separated by commas."""
    return tuple(name.strip() for name in (value or "").split(",") if name.strip())


def printable(text: str) -> str:
    """Returns a text from outside for the terminal, in which what would control it is escaped."""
    return "".join(
        character if character.isprintable() or character == "\n" else ascii(character)[1:-1] for character in text
    )


trusted_option = click.option(
    "--trusted/--untrusted",
    "trusted",
    default=None,
    help="Whether the model may write files, or not even read them. [default: it may read them]",
)


@click.command("freeze")
@click.argument("path", type=click.Path(exists=True))
@click.argument("output", type=click.Path(dir_okay=False))
@click.option("--checkpoint", metavar="PREFIX", help="Values of the variables. [default: PATH without .meta]")
@click.option("--outputs", type=names, default="", help="Nodes to keep, with all that they need: a,b.")
@click.option("--tag-set", "--tag_set", "tags", type=names, default="serve", show_default=True, help="Of a SavedModel.")
@click.option("--signature-def", "--signature_def", "signature", help="Signature whose outputs are kept.")
@click.option("--clear-devices", "--clear_devices", is_flag=True, help="Remove the devices of nodes.")
@trusted_option
def freeze_command(
    path: str,
    output: str,
    checkpoint: str | None,
    outputs: tuple[str, ...],
    tags: tuple[str, ...],
    signature: str | None,
    clear_devices: bool,
    trusted: bool | None,
) -> None:
    """Write a graph whose variables are constants.

    PATH is the folder of a SavedModel, a MetaGraph (model.meta) or a GraphDef (graph.pb, graph.pbtxt); OUTPUT is text
    if it ends with .pbtxt.

    \b
    thalweg freeze export/1 frozen.pb
    thalweg freeze model-1000.meta frozen.pb --outputs softmax
    thalweg freeze graph.pbtxt frozen.pb --checkpoint model-1000 --outputs softmax
    """
    with shown_errors():
        if os.path.isdir(path):
            if not contains_saved_model(path):
                raise click.UsageError(f"{path} contains no SavedModel: expected saved_model.pb in it")
            model = freeze_saved_model(path, tags, signature, outputs, clear_devices, trusted)
            graph_def = model.graph_def
            for what, tensors in (("input", model.inputs), ("output", model.outputs)):
                for key, name in sorted(tensors.items()):
                    click.echo(printable(f"{what} {key}: {name}"))
        elif not outputs:
            raise click.UsageError("--outputs: expected the names of the nodes to keep; a file has no signatures")
        elif path.endswith(".meta"):
            graph_def = freeze_meta_graph(
                path, checkpoint or path.removesuffix(".meta"), outputs, clear_devices, trusted
            )
        elif checkpoint is None:
            raise click.UsageError("--checkpoint: expected the prefix of a checkpoint; a GraphDef has no values")
        else:
            graph_def = freeze_graph_def(read_graph_def(path), checkpoint, outputs, clear_devices)
        write_graph_def(graph_def, output)
    _report(output, graph_def)


@click.command("optimize")
@click.argument("path", required=False, type=click.Path(exists=True, dir_okay=False))
@click.argument("output", required=False, type=click.Path(dir_okay=False))
@click.option("--inputs", type=names, default="", help="Nodes that are fed: a,b.")
@click.option("--outputs", type=names, default="", help="Nodes that are fetched: a,b.")
@click.option("--transforms", default="", help='Names with parameters: "fold_constants remove_nodes(op=Identity)".')
@click.option("--list", "lists", is_flag=True, help="List all transforms with their parameters.")
def optimize_command(
    path: str | None,
    output: str | None,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    transforms: str,
    lists: bool,
) -> None:
    """Apply transforms to a GraphDef, in the order given.

    PATH and OUTPUT are files of GraphDefs, text if they end with .pbtxt.

    \b
    thalweg optimize frozen.pb small.pb --inputs x --outputs softmax \\
        --transforms "strip_unused_nodes fold_constants fold_batch_norms quantize_weights"
    """
    if lists:
        for name in sorted(TRANSFORMS):
            parameters = ", ".join(TRANSFORMS.lookup(name).parameters)
            click.echo(f"{name}({parameters})" if parameters else name)
        return
    if path is None or output is None or not outputs or not transforms.strip():
        raise click.UsageError("expected PATH, OUTPUT, --outputs and --transforms; --list shows the transforms")
    with shown_errors():
        before = read_graph_def(path)
        after = TransformGraph(before, inputs, outputs, [transforms])
        write_graph_def(after, output)
    _report(path, before)
    _report(output, after)


def _report(path: str, graph_def: Any) -> None:
    click.echo(f"{path}: {len(graph_def.node)} nodes, {format_bytes(graph_def.ByteSize())}")


class shown_errors:
    """Shows errors that the input causes in one line, instead of their traceback."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, ERRORS) and not isinstance(error, click.ClickException):
            text = error.args[0] if isinstance(error, KeyError) and error.args else error
            raise click.ClickException(printable(str(text))) from error
