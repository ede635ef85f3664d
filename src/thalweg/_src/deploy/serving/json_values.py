"""Arrays, Examples and results as JSON values, as in TensorFlow Serving's REST API.

Arrays are nested lists of numbers and strings; bytes that are not text are objects `{"b64": ...}`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.formats.example import message_class as example_class
from thalweg._src.base.formats.message_types import Message
from thalweg._src.base.formats.objects import object_array
from thalweg._src.deploy.serving.json_text import shown
from thalweg._src.deploy.serving.servable import Signature
from thalweg._src.deploy.serving.tensors import Array

_B64 = "b64"
_MAX_RANK = 32  # of strings: what any NumPy takes


def is_bytes(value: object) -> bool:
    """Returns whether a value stands for bytes."""
    return isinstance(value, dict) and value.keys() == {_B64}


def read_bytes(value: Any) -> bytes:
    """Returns the bytes of a string or of a base64 object."""
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise errors.invalid(f"JSON Value: {shown(value)} is not valid Unicode") from None
    if is_bytes(value) and isinstance(value[_B64], str):
        try:
            return base64.b64decode(value[_B64], validate=True)
        except (binascii.Error, ValueError):
            raise errors.invalid(f"Unable to base64 decode {shown(value)}") from None
    raise errors.invalid(f"JSON Value: {shown(value)} Type: {type(value).__name__} is not of expected type: string")


def read_array(value: Any, dtype: DType, what: str) -> Array:
    """Returns a JSON value as an array of a type; what: the name of the input, for errors."""
    if dtype is dtypes.string:
        flat: list[bytes] = []
        shape = _walk(value, flat, what)
        return object_array(flat, shape)
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.empty(0, object)
    number = np.dtype(dtype.as_numpy_dtype)
    kinds = {"f": "iuf", "V": "iuf", "b": "b"}.get(number.kind, "iu")
    if array.dtype.kind not in kinds and not (array.size == 0 and array.dtype != object):
        raise errors.invalid(
            f"{what}: expected numbers of type {dtype.name} in lists of equal lengths, received {shown(value)}"
        )
    if array.dtype.kind in "iu" and number.kind in "iu" and array.size:
        lowest, highest = int(array.min()), int(array.max())
        if lowest < np.iinfo(number).min or highest > np.iinfo(number).max:
            raise errors.invalid(f"{what}: {lowest} to {highest} do not fit into {dtype.name}")
    return converted(array, number, what) if number.kind in "fV" else array.astype(number)


def converted(array: Array, number: np.dtype[Any], what: str) -> Array:
    """Returns an array as one of floating-point numbers, if its finite numbers are finite there too."""
    with np.errstate(over="ignore"):
        result = array.astype(number)
    if not np.array_equal(np.isinf(result), np.isinf(array)):
        raise errors.invalid(f"{what}: a number does not fit into {dtypes.as_dtype(number).name}")
    return result


def _walk(value: Any, flat: list[bytes], what: str, rank: int = _MAX_RANK) -> tuple[int, ...]:
    """Collects the strings of nested lists in order, and returns their shape; rank: the most levels of lists."""
    if not isinstance(value, list):
        flat.append(read_bytes(value))
        return ()
    if not rank:
        raise errors.invalid(f"{what}: lists are nested more than {_MAX_RANK} deep")
    shapes = {_walk(item, flat, what, rank - 1) for item in value}
    if len(shapes) > 1:
        raise errors.invalid(f"{what}: expected lists of equal lengths, received {shown(value)}")
    return (len(value), *(shapes.pop() if shapes else ()))


def write_array(array: Array, name: str) -> Any:
    """Returns an array as what `dumps` takes; strings of an output whose name ends with _bytes are base64 objects."""
    if array.dtype == object:
        values: list[Any] = [_text(item, name.endswith("_bytes")) for item in array.reshape(-1).tolist()]
        return object_array(values, array.shape).tolist()
    if array.dtype.kind == "c":
        raise errors.invalid(f"output {name!r}: JSON has no complex numbers")
    if array.dtype.kind == "V":  # bfloat16
        array = array.astype(np.float32)
    return np.ascontiguousarray(array)


def _text(item: bytes, as_bytes: bool) -> Any:
    if not as_bytes:
        try:
            return item.decode()
        except UnicodeDecodeError:
            pass
    return {_B64: base64.b64encode(item).decode()}


def signature_of(body: Mapping[str, Any]) -> str:
    """Returns the name of the signature that a request addresses."""
    name = body.get("signature_name", "")
    if not isinstance(name, str):
        raise errors.invalid(f"'signature_name': expected a string, received {shown(name)}")
    return name or "serving_default"


def is_row_format(body: Mapping[str, Any]) -> bool:
    """Returns whether a request lists instances, rather than whole inputs."""
    if "instances" in body and "inputs" in body:
        raise errors.invalid("expected one of the keys 'inputs' and 'instances', received both")
    if "instances" not in body and "inputs" not in body:
        raise errors.invalid("Missing 'inputs' or 'instances' key")
    return "instances" in body


def read_inputs(body: Mapping[str, Any], signature: Signature) -> dict[str, Array]:
    """Returns the inputs of a predict request."""
    columns = _rows(body["instances"], signature) if is_row_format(body) else _columns(body["inputs"], signature)
    return {
        name: read_array(columns[name], port.dtype, f"input {name!r}")
        for name, port in signature.inputs.items()
        if name in columns
    }


def _is_named(value: object) -> bool:
    return isinstance(value, dict) and not is_bytes(value)


def _rows(instances: Any, signature: Signature) -> dict[str, Any]:
    """Returns the values of each input, one for each instance."""
    if not isinstance(instances, list | np.ndarray) or not len(instances):
        raise errors.invalid(f"'instances': expected a list of one value or more, received {shown(instances)}")
    if not _is_named(instances[0]):
        if any(_is_named(instance) for instance in instances):
            raise errors.invalid("'instances': expected objects alone or no objects")
        return {_only_input(signature, "instances"): instances}
    names = signature.inputs.keys()
    for number, instance in enumerate(instances):
        if not _is_named(instance) or instance.keys() != names:
            raise errors.invalid(
                f"Failed to process element: {number} of 'instances' list. "
                f"expected an object with the keys {','.join(names)}, received {shown(instance)}"
            )
    return {name: [instance[name] for instance in instances] for name in names}


def _columns(inputs: Any, signature: Signature) -> dict[str, Any]:
    if not _is_named(inputs):
        return {_only_input(signature, "inputs"): inputs}
    for name in signature.inputs:
        if name not in inputs:
            raise errors.invalid(f"Missing named input: {name} in 'inputs' object.")
    return dict(inputs)


def _only_input(signature: Signature, key: str) -> str:
    if len(signature.inputs) != 1:
        names = ",".join(signature.inputs)
        raise errors.invalid(f"{key!r}: expected objects, since the signature has the inputs {names}")
    (name,) = signature.inputs
    return name


def write_outputs(outputs: Mapping[str, Array], as_rows: bool) -> dict[str, Any]:
    """Returns the response of a predict request, in the format of the request."""
    values = {name: write_array(array, name) for name, array in outputs.items()}
    if not as_rows:
        return {"outputs": next(iter(values.values())) if len(values) == 1 else values}
    sizes = {array.shape[:1] for array in outputs.values()}
    if sizes == {()} or len(sizes) != 1:
        shapes = {name: list(array.shape) for name, array in outputs.items()}
        raise errors.invalid(
            f"the outputs do not have one row for each instance: {shapes}; use 'inputs' instead of 'instances'"
        )
    if len(values) == 1:
        return {"predictions": next(iter(values.values()))}
    return {"predictions": [dict(zip(values, row)) for row in zip(*values.values())]}


def read_examples(body: Mapping[str, Any]) -> list[bytes]:
    """Returns the serialized Examples of a classify or regress request, with the features of its context."""
    examples = body.get("examples")
    if not isinstance(examples, list) or not examples:
        raise errors.invalid(f"'examples': expected a list of one object or more, received {shown(examples)}")
    context = _example(body["context"]) if "context" in body else b""
    return [context + _example(example) for example in examples]


def _example(features: object) -> bytes:
    if not isinstance(features, dict):
        raise errors.invalid(f"Example must be JSON object but got {shown(features)}")
    example = example_class("Example")()
    for name, value in features.items():
        values = value if isinstance(value, list) else [value]
        _fill(example.features.feature[name], values, name)
    return bytes(example.SerializeToString())


def _fill(feature: Message, values: list[Any], name: str) -> None:
    """Adds the values of a feature, which are all integers, all floating-point numbers, or all strings."""
    if all(isinstance(value, bool | int) for value in values):
        if not all(-(2**63) <= value < 2**63 for value in values):
            raise errors.invalid(f"Feature: {name} has an integer of more than 64 bits")
        feature.int64_list.value.extend(map(int, values))
    elif all(isinstance(value, float) for value in values):
        feature.float_list.value.extend(converted(np.asarray(values), np.dtype(np.float32), f"Feature: {name}"))
    elif all(isinstance(value, str) or is_bytes(value) for value in values):
        feature.bytes_list.value.extend(map(read_bytes, values))
    else:
        raise errors.invalid(
            f"Feature: {name}: expected integers, floating-point numbers or strings alone, received {shown(values)}"
        )
