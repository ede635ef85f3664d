"""JSON text of requests and answers, by orjson where it is installed and has what is needed."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from thalweg._src import errors
from thalweg._src.serving.json_arrays import parse_array

_LARGE = 1 << 14  # bytes

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
        raise errors.invalid(f"JSON Parse error: expected an object, received {found!r:.100}")
    return found


def loads(content: bytes) -> Any:
    """Returns the value of JSON text, which may contain NaN and infinity."""
    if orjson is not None:
        try:
            return orjson.loads(content)
        except orjson.JSONDecodeError:
            pass  # perhaps because of NaN, infinity or half a surrogate pair
    return json.loads(content)


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
