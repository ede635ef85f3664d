"""Large JSON arrays of numbers, read by simdjson without a Python object for each number and list."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np

simdjson: Any
try:
    simdjson = import_module("simdjson")
except ModuleNotFoundError:
    simdjson = None

Array = np.ndarray[Any, Any]
_START = re.compile(rb'\s*\{\s*"(instances|inputs)"\s*:\s*(?=\[)')
_END = re.compile(rb"(?<=\])\s*\}\s*")
_MAX_RANK = 32
_NUMBERS = b"0123456789.eE+- \t\r\n"
_FRACTIONS = re.compile(rb"[.eE]")


def parse_array(content: bytes) -> dict[str, Array] | None:
    """Returns the body of a request that is one array of numbers under one key; None if it is anything else."""
    start = _START.match(content)
    end = content.rfind(b"]") + 1
    if simdjson is None or start is None or not _END.fullmatch(content, end):
        return None
    text = content[start.end() : end]
    shape = _shape(text.translate(None, _NUMBERS))
    if shape is None:
        return None
    try:
        numbers = simdjson.Parser().parse(text)
        array = (
            np.frombuffer(numbers.as_buffer(of_type="d"), np.float64)
            if _FRACTIONS.search(text)
            else np.frombuffer(numbers.as_buffer(of_type="i"), np.int64)
        )
        return {start[1].decode(): array.reshape(shape)}
    except (ValueError, TypeError, RuntimeError):
        return None  # is no JSON, has too large numbers, or an empty list, which looks as one of a number


def _shape(brackets: bytes) -> list[int] | None:
    """Returns the sizes of nested lists, given their brackets and commas; None if lists have different lengths."""
    rank = len(brackets) - len(brackets.lstrip(b"["))
    if rank > _MAX_RANK or brackets.strip(b"[],"):  # there is more than numbers
        return None
    shape: list[int] = []
    inner = b""  # all that is in one list of this depth
    for depth in range(rank, 0, -1):
        length = brackets.find(b"]" * (rank - depth + 1)) - depth + (rank - depth)
        size = (length + 1) // (len(inner) + 1)
        inner = b"[" + b",".join([inner] * size) + b"]"
        shape.insert(0, size)
        if size < 1 or not brackets.startswith(inner, depth - 1):
            return None
    return shape if inner == brackets else None
