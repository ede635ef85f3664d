"""JSON text of requests and answers: by orjson, large arrays of numbers by simdjson, the rest by Python's own module.

Both libraries are optional. simdjson makes no Python object for each number and list.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from importlib import import_module
from typing import Any

import numpy as np

from thalweg._src.base import errors
from thalweg._src.deploy.serving.tensors import Array

_LARGE = 1 << 14  # bytes
_SHOWN = 100  # characters of a wrong value in an error
_LONGEST = 20  # characters of an integer of 64 bits
_START = re.compile(rb'\s*\{\s*"(instances|inputs)"\s*:\s*(?=\[)')
_END = re.compile(rb"(?<=\])\s*\}\s*")
_MAX_RANK = 32
_NUMBERS = b"0123456789.eE+- \t\r\n"
_FRACTIONS = re.compile(rb"[.eE]")
_representation = reprlib.Repr()  # of a few levels and members, since values are as deep and long as clients like
_representation.maxlist = _representation.maxdict = 10
_representation.maxstring = _representation.maxother = _SHOWN


def _optional(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        return None


orjson, simdjson = _optional("orjson"), _optional("simdjson")


def parse(content: bytes) -> dict[str, Any]:
    """Returns the object that the body of a request holds."""
    if not content:
        raise errors.invalid("JSON Parse error: The document is empty")
    if len(content) >= _LARGE and (array := parse_array(content)) is not None:
        return array
    try:
        value = loads(content)
    except (ValueError, RecursionError) as error:
        raise errors.invalid(f"JSON Parse error: {error}") from None
    if not isinstance(value, dict):
        raise errors.invalid(f"JSON Parse error: expected an object, received {shown(value)}")
    return value


def shown(value: object) -> str:
    """Returns the start of a value of a request, for errors."""
    text = _representation.repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def loads(content: bytes) -> Any:
    """Returns the value of JSON text, which may contain NaN and infinity, but no numbers that no double holds.

    An integer of more than 64 bits is a double, as in TensorFlow Serving.
    """
    if orjson is not None:
        try:
            return orjson.loads(content)
        except orjson.JSONDecodeError:
            pass  # perhaps because of NaN, infinity or half a surrogate pair
    return json.loads(content, parse_float=_float, parse_int=_integer)


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {shown(text)} is too large")
    return value


def _integer(text: str) -> int | float:
    value = int(text) if len(text) <= _LONGEST else _float(text)
    return value if -(1 << 63) <= value < 1 << 64 else float(value)


def dumps(value: object) -> bytes:
    """Returns a value, which may contain arrays of numbers, as JSON text."""
    if orjson is not None:
        try:
            text: bytes = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
            if b"null" not in text:  # which it writes for NaN and infinity
                return text
        except TypeError:
            pass
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=lambda array: array.tolist())
    return plain.encode(errors="backslashreplace")  # halves of a surrogate pair, which a request may hold


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
        return None  # not JSON, a number that is too large, or an empty list, which has the brackets of one number


def _shape(brackets: bytes) -> list[int] | None:
    """Returns the sizes of nested lists, given their brackets and commas; None if lists have different lengths.

    In an array all lists of one depth have the same text, so it is enough to look at the first one of each, from the
    innermost outwards: its length gives how often the text of the depth below is repeated in it, and the text that
    follows from that must be the one that is there. At the end, all of the brackets must be the outermost text.
    """
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
