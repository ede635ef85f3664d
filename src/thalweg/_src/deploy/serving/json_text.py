"""JSON text of requests and answers, by orjson where it is installed and has what is needed."""

from __future__ import annotations

import json
import math
import reprlib
from importlib import import_module
from typing import Any

from thalweg._src.base import errors
from thalweg._src.deploy.serving.json_arrays import parse_array

_LARGE = 1 << 14  # bytes
_SHOWN = 100  # characters of a wrong value in an error
_LONGEST = 20  # characters of an integer of 64 bits
_representation = reprlib.Repr()  # of a few levels and members, since values are as deep and long as clients like
_representation.maxlist = _representation.maxdict = 10
_representation.maxstring = _representation.maxother = _SHOWN

orjson: Any
try:
    orjson = import_module("orjson")
except ModuleNotFoundError:
    orjson = None


def parse(content: bytes) -> dict[str, Any]:
    """Returns the object that the body of a request holds."""
    if not content:
        raise errors.invalid("JSON Parse error: The document is empty")
    if len(content) >= _LARGE and (array := parse_array(content)) is not None:
        return array
    try:
        found = loads(content)
    except (ValueError, RecursionError) as error:
        raise errors.invalid(f"JSON Parse error: {error}") from None
    if not isinstance(found, dict):
        raise errors.invalid(f"JSON Parse error: expected an object, received {shown(found)}")
    return found


def shown(value: Any) -> str:
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


def dumps(value: Any) -> bytes:
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
