"""Kernels of printing and assertions, and the formatting of values."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.base import errors
from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Call, Input, kernel
from thalweg._src.runtime.kernels.types import TensorValue, to_read
from thalweg._src.runtime.resources.devices import Device


class _Countdown:
    """The number of times that a Print op may still print; negative for no limit."""

    def __init__(self, left: int) -> None:
        self.left = left


@kernel("Print")
def bind_print(node: Node, device: Device) -> Callable[..., Any]:
    message, summarize = node.attrs["message"], node.attrs["summarize"]
    state = device.state(node.name, lambda: _Countdown(node.attrs["first_n"]))

    def show(value: object, *data: object) -> Any:
        if state.left:
            state.left -= 1
            text = "".join(f"[{summary(item, summarize)}]" for item in data)
            print(message + text, file=sys.stderr, flush=True)
        return value

    return show


@kernel("PrintV2", devices=("CPU",))
def bind_print_v2(node: Node, device: Device) -> Callable[[Any], None]:
    stream, end = node.attrs["output_stream"], node.attrs["end"]

    def show(value: np.ndarray[Any, Any]) -> None:
        text = _text(value.item())
        if stream.startswith("file://"):
            with open(stream.removeprefix("file://"), "a", encoding="utf-8") as file:
                file.write(text + end)
        else:
            print(text, end=end, file=sys.stdout if stream == "stdout" else sys.stderr, flush=True)

    return show


@kernel("StringFormat", devices=("CPU",))
def bind_string_format(node: Node, device: Device) -> Callable[..., Any]:
    texts, summarize = node.attrs["template"].split(node.attrs["placeholder"]), node.attrs["summarize"]

    def fill(*values: object) -> Any:
        shown = [layout(value, summarize) for value in values]
        text = "".join(text_before + value for text_before, value in zip(texts, [*shown, ""]))
        return np.array(text.encode("utf-8", "surrogateescape"), dtype=object)

    return fill


@kernel("Assert")
def bind_assert(node: Node, device: Device) -> Call:
    summarize = node.attrs["summarize"]

    def check(condition: Any, data: list[Any]) -> None:
        if condition.dim():
            raise errors.ShapeError("condition must be a scalar", hint="use tf.reduce_all on it")
        if not condition:
            shown = " ".join(f"[{summary(value, summarize)}]" for value in data)
            raise invalid(f"assertion failed: {shown}")

    return Call(check, (Input(0), [Input(i) for i in range(1, len(node.inputs))]))


def summary(value: object, limit: int) -> str:
    """Formats the first elements of a value on one line: `[1 2][3...]...`; a negative limit shows all."""
    array = to_read(value)
    room = [array.size if limit < 0 else min(limit, array.size)]
    shown = _row(array, room) if array.ndim else _element(array[()]) * room[0]
    return shown + ("..." if 0 <= limit < array.size else "")


def _row(array: TensorValue, room: list[int]) -> str:
    if array.ndim == 1:
        count = min(len(array), room[0])
        room[0] -= count
        return " ".join(_element(e) for e in array[:count])
    rows = []
    for row in array:
        if not room[0]:
            break
        before = room[0]
        text = _row(row, room)
        rows.append(f"[{text}{'...' if row.ndim == 1 and before < len(row) else ''}]")
    return "".join(rows)


def layout(value: object, at_ends: int) -> str:
    """Formats a value in rows and columns, with `count` elements at both ends of each dimension; negative for all."""
    array = to_read(value)
    return _block(array, max(array.size, 1) if at_ends < 0 else at_ends, 0, array.ndim)


def _block(array: TensorValue, at_ends: int, depth: int, rank: int) -> str:
    if depth == rank:
        return _element(array[()] if isinstance(array, np.ndarray) else array, quoted=True)
    count = len(array)
    chosen = range(count) if count <= 2 * at_ends else [*range(at_ends), *range(count - at_ends, count)]
    blocks = [_block(array[i], at_ends, depth + 1, rank) for i in chosen]
    if count > 2 * at_ends:
        blocks.insert(at_ends, "...")
    between = " " if depth == rank - 1 else "\n" * (rank - depth - 1) + " " * (depth + 1)
    return f"[{between.join(blocks)}]"


def _element(value: Any, quoted: bool = False) -> str:
    if isinstance(value, bytes):
        text = _text(value)
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"' if quoted else text
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, float | np.floating) or type(value).__name__ == "bfloat16":
        return _number(value)
    if isinstance(value, complex | np.complexfloating):
        return f"({_number(value.real)},{_number(value.imag)})"
    return str(value)


def _number(value: Any) -> str:
    """Formats a float with the digits that its type guarantees if they round-trip, else with all it needs."""
    kind, short, long = (np.float64, 15, 17) if isinstance(value, np.float64) else (np.float32, 6, 9)
    number = float(value)
    text = f"{number:.{short}g}"
    return text if not math.isfinite(number) or kind(text) == number else f"{number:.{long}g}"


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
