"""Trip count: the number of iterations of a loop, where it counts up or down to a constant by a constant step."""

from __future__ import annotations

import math

import numpy as np

from thalweg._src.graph.ir.step_graph import Node, Output

_UP = {"Less": 0, "LessEqual": 1}
_DOWN = {"Greater": 0, "GreaterEqual": 1}


def trip_count(loop: Node, unknown: int) -> int:
    """Returns the trip count of a loop, or `unknown`."""
    bound = _bound(loop, loop.attrs["region"].condition.fetches[0])
    return unknown if bound is None else bound


def _bound(loop: Node, condition: Output) -> int | None:
    """Returns how often a condition holds: for a conjunction, the smaller number."""
    # For i = first, first + step, ... the test i < limit holds ceil((limit - first) / step) times, and i <= limit holds
    # as often as i < limit + 1. All four numbers must be constants; in a nested loop they may be captured ones.
    node = _through_views(condition).node
    if node.type == "LogicalAnd":
        bounds = [bound for bound in (_bound(loop, output) for output in node.inputs) if bound is not None]
        return min(bounds, default=None)
    if node.type not in _UP and node.type not in _DOWN:
        return None
    counter, limit = _through_views(node.inputs[0]).node, _value(loop, node.inputs[1])
    arguments = loop.attrs["region"].condition.feeds
    if limit is None or counter not in arguments or arguments.index(counter) >= len(loop.dtypes):
        return None
    index = arguments.index(counter)
    first, step = _number(loop.inputs[index]), _step(loop, index)
    rising = node.type in _UP
    if first is None or not step or (step > 0) is not rising:
        return None
    distance = (limit - first if rising else first - limit) + (_UP | _DOWN)[node.type]
    return max(0, math.ceil(distance / abs(step)))


def _step(loop: Node, index: int) -> int | None:
    """Returns the step of a loop variable: what an iteration adds to it, if that is a constant."""
    region = loop.attrs["region"]
    node = _through_views(region.body.fetches[index]).node
    if node.type not in ("Add", "AddV2", "Sub") or _through_views(node.inputs[0]).node is not region.body.feeds[index]:
        return None
    amount = _value(loop, node.inputs[1])
    return amount if amount is None or node.type != "Sub" else -amount


def _value(loop: Node, output: Output) -> int | None:
    """Returns an integer inside a loop: a constant, or a loop-invariant argument."""
    node = _through_views(output).node
    arguments = loop.attrs["region"].body.feeds
    if node.type == "_Arg":
        place = next((i for i, argument in enumerate(arguments) if argument is node), -1)
        return _number(loop.inputs[place]) if place >= len(loop.dtypes) else None
    return _number(output)


def _number(output: Output) -> int | None:
    """Returns an integer that is known statically: a constant, or the final value of another loop's counter."""
    node, index = _through_views(output)
    if node.type in ("Const", "_AsNumber"):
        value = node.attrs["value"]
        whole = isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu"
        return int(value) if whole else None
    if node.type == "_While":
        first, step, count = _number(node.inputs[index]), _step(node, index), trip_count(node, -1)
        return None if first is None or step is None or count < 0 else first + step * count
    return None


def _through_views(output: Output) -> Output:
    while _is_forwarded(output.node):
        output = output.node.inputs[0]
    return output


def _is_forwarded(node: Node) -> bool:
    """Returns whether a node forwards its input within the same step."""
    forwards = node.facts.forwards in ("same", "reshaped") and bool(node.inputs)
    return forwards and not node.facts.reads and node.type != "_Alive"
