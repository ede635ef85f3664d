"""Scans: arrays that a loop writes element by element, in order, which are outputs of an ONNX Loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thalweg._src.base.shapes import is_fully_defined
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph

_WRITES = {"TensorArrayWriteV3": (1, 2, 3), "TensorListSetItem": (1, 2, 0)}  # the inputs: index, value, array
_CREATIONS = {"TensorArrayV3": 0, "TensorListReserve": 1}  # the input with the size


@dataclass(frozen=True, slots=True)
class Scan:
    """A variable of a loop that is an array of which each iteration writes the next element.

    value: what the iteration writes
    write: the node that does
    size: the number of elements of the array; None if the loop is known to write them all
    """

    value: Output
    write: Node
    size: Output | None


def find_scans(loop: Node) -> dict[int, Scan]:
    """Returns the variables of a loop that are scans, by index.

    An ONNX Loop concatenates what each iteration gives. That is the array if nothing reads it in the loop, if
    iteration i writes element i (the index counts from 0 by 1), and if there was nothing in it before. If the loop may
    end before it has written all elements, `size` asks for zeros behind them, as TensorFlow has them.
    """
    region = loop.attrs["region"]
    body: StepGraph = region.body
    scans = {}
    for index, (write, _) in enumerate(body.fetches):
        creation = loop.inputs[index][0]
        if write.type not in _WRITES or write.guard or creation.type not in _CREATIONS:
            continue
        place, value, array = (write.inputs[i] for i in _WRITES[write.type])
        if array != (body.feeds[index], 0) or _uses(loop, index) != [write] or not _counts(loop, place):
            continue
        if not (creation.attrs.get("identical_element_shapes", True) or is_fully_defined(value.shape)):
            continue
        size = creation.inputs[_CREATIONS[creation.type]]
        grows = creation.attrs.get("dynamic_size", False)
        is_whole = grows or any(_same(size, limit) for limit in _limits(loop, region.condition.fetches[0]))
        scans[index] = Scan(value, write, None if is_whole else size)
    return scans


def _uses(loop: Node, index: int) -> list[Node]:
    """Returns the nodes that use a variable in the loop."""
    region = loop.attrs["region"]
    argument = region.body.feeds[index]
    used = [node for graph in region.graphs() for node in graph.nodes if Output(argument, 0) in node.inputs]
    fetched = [node for graph in region.graphs() for node, _ in graph.fetches if node is argument]
    return used + fetched


def _counts(loop: Node, output: Output) -> bool:
    """Returns whether a value is the number of the iteration: a variable from 0 on to which each adds 1."""
    body: StepGraph = loop.attrs["region"].body
    if output[0] not in body.feeds:
        return False
    index = body.feeds.index(output[0])
    if index >= len(loop.dtypes) or not _is_number(_outside(loop, loop.inputs[index]), 0):
        return False
    following = body.fetches[index][0]
    if following.type not in ("Add", "AddV2"):
        return False
    others = [addend for addend in following.inputs if addend != output]
    return len(others) == 1 and _is_number(_outside(loop, others[0]), 1)


def _outside(loop: Node, output: Output) -> Output:
    """Returns the value of outside that an argument of a loop stands for; other values as they are."""
    feeds: Sequence[Node] = loop.attrs["region"].body.feeds
    return loop.inputs[feeds.index(output[0])] if output[0] in feeds else output


def _is_number(output: Output, number: int) -> bool:
    node = output[0]
    return node.type == "Const" and np.size(node.attrs["value"]) == 1 and int(node.attrs["value"]) == number


def _same(one: Output, other: Output) -> bool:
    """Returns whether two integers are known to be equal."""
    if one.node.type == "Const" and other.node.type == "Const":
        return int(one.node.attrs["value"]) == int(other.node.attrs["value"])
    return one == other


def _limits(loop: Node, output: Output) -> Iterator[Output]:
    """Yields what a loop counts up to, if it only ends by counting."""
    node = output[0]
    if node.type == "LogicalAnd":
        limits = [list(_limits(loop, operand)) for operand in node.inputs]
        if all(limits):
            yield from limits[0]
            yield from limits[1]
    elif node.type == "Less" and _counts(loop, node.inputs[0]):
        limit = _outside(loop, node.inputs[1])
        yield limit
