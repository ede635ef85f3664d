"""`thalweg predict`: runs a signature of a SavedModel on arrays from files, expressions or examples."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from thalweg._src.base.formats.example import message_class
from thalweg._src.base.formats.numpy_files import load
from thalweg._src.base.formats.paths import inside
from thalweg._src.compat.contrib.predictor import from_saved_model
from thalweg._src.tools.cli.freeze import names, printable, shown_errors, trusted_option

_KEYED = re.compile(r"\s*([^=\s]+)\s*=\s*(.+?)\s*", re.DOTALL)
_FILE = re.compile(r"(.+?)(?:\[([^\[\]]+)\])?")


@click.command("predict")
@click.argument("path", type=click.Path(exists=True, file_okay=False))
@click.option("--tag-set", "--tag_set", "tags", type=names, default="serve", show_default=True)
@click.option("--signature-def", "--signature_def", "signature", default="serving_default", show_default=True)
@click.option("--inputs", multiple=True, help="Arrays in files: x=x.npy;y=arrays.npz[key].")
@click.option("--input-exprs", "--input_exprs", "exprs", multiple=True, help="NumPy: x=np.ones((2, 3));y=[1, 2].")
@click.option(
    "--input-examples", "--input_examples", "examples", multiple=True, help='Features: inputs=[{"age": [22.0]}].'
)
@click.option("--outdir", type=click.Path(file_okay=False), help="Folder for the outputs, each in a .npy file.")
@click.option("--overwrite", is_flag=True, help="Replace files in --outdir.")
@trusted_option
def predict_command(
    path: str,
    tags: tuple[str, ...],
    signature: str,
    inputs: tuple[str, ...],
    exprs: tuple[str, ...],
    examples: tuple[str, ...],
    outdir: str | None,
    overwrite: bool,
    trusted: bool | None,
) -> None:
    """Run a signature of a SavedModel, and print or save its outputs.

    PATH is the folder of the SavedModel. Expressions are evaluated as Python, with NumPy as np: use your own alone.

    \b
    thalweg predict export/1 --inputs "images=test.npz[x]" --outdir predictions
    thalweg predict export/1 --input_exprs "x=np.ones((1, 40))"
    thalweg predict export/1 --signature_def classify --input_examples 'inputs=[{"age": [22.0], "city": ["Bonn"]}]'
    """
    with shown_errors():
        feeds: dict[str, Any] = {}
        for texts, read in ((inputs, _read), (exprs, _evaluated), (examples, _examples)):
            _add(feeds, texts, read)
        if not feeds:
            raise click.UsageError("expected values by --inputs, --input_exprs or --input_examples")
        predict = from_saved_model(path, signature_def_key=signature, tags=tags, trusted=trusted)
        with predict.session:
            results = predict(feeds)
        for key in sorted(results):
            _give(key, results[key], outdir, overwrite)


def _add(feeds: dict[str, Any], options: tuple[str, ...], read: Callable[[str], Any]) -> None:
    for text in (assignment for option in options for assignment in option.split(";") if assignment.strip()):
        match = _KEYED.fullmatch(text)
        if match is None:
            raise ValueError(f"expected name=value for each input, separated by semicolons, received {text!r}")
        if match[1] in feeds:
            raise ValueError(f"the input {match[1]!r} was given twice; give one value for each input")
        feeds[match[1]] = read(match[2])


def _read(text: str) -> Any:
    """Returns the array in a file, of which there are several in an .npz file."""
    match = _FILE.fullmatch(text)
    assert match is not None
    path, key = match.groups()
    loaded = load(path)
    if isinstance(loaded, np.ndarray):
        return loaded
    keys = list(loaded)
    if key is None and len(keys) == 1:
        key = keys[0]
    if key not in keys:
        raise ValueError(f"{path} has the arrays {', '.join(keys)}; name one: {path}[{keys[0] if keys else ''}]")
    return loaded[key]


def _evaluated(text: str) -> Any:
    try:
        return eval(text, {"np": np, "numpy": np})
    except Exception as error:
        raise ValueError(
            f"cannot evaluate {text!r}: {error}; expected an expression of Python, with NumPy as np"
        ) from error


def _examples(text: str) -> list[bytes]:
    """Returns serialized examples for a list of dictionaries from features to lists of values."""
    try:
        rows = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"cannot read {text!r}: {error}; expected plain values of Python") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"expected a list of dictionaries of features, received {text!r}")
    return [_example(row).SerializeToString() for row in rows]


def _example(row: dict[str, Any]) -> Any:
    example = message_class("Example")()
    for key, values in row.items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"feature {key!r}: expected a list of values, received {values!r}")
        feature = example.features.feature[key]
        if isinstance(values[0], str | bytes):
            feature.bytes_list.value.extend(v.encode() if isinstance(v, str) else v for v in values)
        elif isinstance(values[0], float):
            feature.float_list.value.extend(values)
        elif isinstance(values[0], int):
            feature.int64_list.value.extend(values)
        else:
            raise ValueError(f"feature {key!r}: expected numbers or strings, received {values[0]!r}")
    return example


def _give(key: str, value: object, outdir: str | None, overwrite: bool) -> None:
    """Prints an output, or saves it in a folder."""
    if outdir is None:
        click.echo(printable(f"{key}:\n{value}"))
        return
    path = inside(outdir, f"{key}.npy")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path) and not overwrite:
        raise ValueError(f"{path} exists already; choose another folder, or replace it with --overwrite")
    np.save(path, np.asarray(value))
    click.echo(printable(f"{key}: {path}"))
