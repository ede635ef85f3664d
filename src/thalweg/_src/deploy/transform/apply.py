"""Applying transforms that are given as text: `fold_constants remove_nodes(op=Identity, op=CheckNumerics)`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from thalweg._src.base import logging
from thalweg._src.base.errors import OpError, invalid
from thalweg._src.base.export import export
from thalweg._src.base.formats.message_types import GraphDef
from thalweg._src.base.formats.text import as_text
from thalweg._src.deploy.transform.registry import Context, check_parameters
from thalweg._src.graph.graph_def_checks import check_graph_def
from thalweg._src.graph.graphdef import message_type
from thalweg._src.runtime.session.freezing import source_of

Parameters = dict[str, tuple[str, ...]]
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*")
_PARAMETER = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(?:\"([^\"]*)\"|([^\",()\s]+))\s*")


def parse(text: str) -> Iterator[tuple[str, Parameters]]:
    """Yields the transforms that a text names, each with its parameters; values with commas are in quotes."""
    position = 0
    while text[position:].strip():
        match = _NAME.match(text, position)
        if match is None:
            raise _unreadable(text, position, "the name of a transform")
        position = match.end()
        parameters: dict[str, list[str]] = {}
        if text[position : position + 1] == "(":
            position = _read_parameters(text, position + 1, parameters)
        yield match[1], {name: tuple(values) for name, values in parameters.items()}


def _read_parameters(text: str, position: int, parameters: dict[str, list[str]]) -> int:
    """Reads what stands between parentheses, and returns the position after it."""
    closed = re.compile(r"\s*\)").match(text, position)
    while closed is None:
        match = _PARAMETER.match(text, position)
        if match is None:
            raise _unreadable(text, position, 'name=value or name="value"')
        parameters.setdefault(match[1], []).append(match[3] if match[2] is None else match[2])
        position = match.end()
        closed = re.compile(r"\)").match(text, position)
        if closed is None and text[position : position + 1] != ",":
            raise _unreadable(text, position, "a comma or a closing parenthesis")
        position += closed is None
    return closed.end()


def _unreadable(text: str, position: int, expected: str) -> Exception:
    rest = text[position : position + 30]
    return invalid(f"transforms: expected {expected} at {rest!r}, in {text!r}")


@export("tools.graph_transforms.TransformGraph")
def TransformGraph(
    input_graph_def: GraphDef, inputs: Sequence[str], outputs: Sequence[str], transforms: Sequence[str]
) -> GraphDef:
    """Returns a GraphDef after transforms, which are applied in order; the argument stays as it is.

    Args:
        input_graph_def: A GraphDef, frozen for most transforms.
        inputs: Names of the nodes that are fed.
        outputs: Names of the nodes that are fetched, which keep their names.
        transforms: Names of transforms with their parameters, as in `remove_nodes(op=Identity)`.
    """
    if getattr(getattr(input_graph_def, "DESCRIPTOR", None), "name", "") != "GraphDef":
        raise TypeError(f"input_graph_def: expected a GraphDef, received {type(input_graph_def).__name__}")
    for what, argument in (("inputs", inputs), ("outputs", outputs), ("transforms", transforms)):
        if isinstance(argument, str | bytes):
            raise TypeError(f"{what}: expected a list of strings, received one string")
    check_graph_def(input_graph_def)
    named = [tuple(source_of(as_text(name)) for name in names) for names in (inputs, outputs)]
    steps = list(parse(" ".join(map(as_text, transforms))))
    entries = [check_parameters(name, parameters) for name, parameters in steps]
    result: GraphDef = message_type("GraphDef")()
    result.CopyFrom(input_graph_def)
    for (name, parameters), entry in zip(steps, entries):
        context = Context(named[0], named[1], parameters)
        skips = context.flag("ignore_errors", False)
        try:
            result = entry.apply(result, context)
        except (OpError, LookupError, TypeError, ValueError) as error:
            if not skips:
                raise invalid(f"{name}: {error}") from error
            logging.warn("%s: %s; skipped", name, error)
    return result
