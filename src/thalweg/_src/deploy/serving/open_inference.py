"""The Open Inference Protocol (KServe version 2) over REST: `/v2/...`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import Any

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.deploy.serving.event_loop import EventLoop
from thalweg._src.deploy.serving.json_text import parse, shown
from thalweg._src.deploy.serving.json_values import read_array, write_array
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.servable import Port, Signature
from thalweg._src.deploy.serving.service import Call, Service
from thalweg._src.deploy.serving.tensors import Array
from thalweg._src.graph.versions import THALWEG_VERSION

_PATH = re.compile(r"/v2/models/(?P<name>[^/]+)(?:/versions/(?P<version>\d{1,18}))?(?:/(?P<what>ready|infer))?")
_MAX_RANK = 32
_TYPES = {
    "BOOL": dtypes.bool,
    **{f"UINT{bits}": dtypes.as_dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{f"INT{bits}": dtypes.as_dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"FP{bits}": dtypes.as_dtype(f"float{bits}") for bits in (16, 32, 64)},
    "BF16": dtypes.bfloat16,
    "BYTES": dtypes.string,
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}


async def answer(
    service: Service, loop: EventLoop, method: str, path: str, content: bytes, deadline: float | None
) -> dict[str, Any]:
    """Returns the answer to a request."""
    if method == "GET" and path == "/v2":
        return {"name": "thalweg", "version": THALWEG_VERSION, "extensions": []}
    if method == "GET" and path == "/v2/health/live":
        return {"live": True}
    if method == "GET" and path == "/v2/health/ready":
        if not service.manager.is_ready():
            raise errors.UnavailableError(None, None, "a model is not ready")
        return {"ready": True}
    found = _PATH.fullmatch(path)
    if found is None or (method == "POST") != (found["what"] == "infer"):
        raise errors.NotFoundError(None, None, f"Malformed request: {method} {path}")
    spec = Spec(found["name"], int(found["version"]) if found["version"] else None)
    if found["what"] == "infer":
        body = await loop.apart_if_large(len(content), parse, content)
        return await _infer(service, loop, spec, body, len(content), deadline)
    version, signatures = service.signatures(spec)
    if found["what"] == "ready":
        return {"name": spec.name, "ready": True}
    signature = signatures.get("serving_default") or next(iter(signatures.values()), None)
    return {
        "name": spec.name,
        "versions": [str(version)],
        "platform": "tensorflow_savedmodel",
        "inputs": _described(signature.inputs if signature else {}),
        "outputs": _described(signature.outputs if signature else {}),
    }


def _described(ports: Mapping[str, Port]) -> list[dict[str, Any]]:
    return [
        {"name": name, "datatype": _datatype(port.dtype), "shape": [-1 if n is None else n for n in port.shape or ()]}
        for name, port in ports.items()
    ]


def _datatype(dtype: DType) -> str:
    if dtype not in _NAMES:
        raise errors.invalid(f"the Open Inference Protocol has no type {dtype.name}; use gRPC")
    return _NAMES[dtype]


async def _infer(
    service: Service, loop: EventLoop, spec: Spec, body: dict[str, Any], size: int, deadline: float | None
) -> dict[str, Any]:
    inputs, outputs = _list_of(body, "inputs"), _list_of(body, "outputs")
    options = body.get("parameters") or {}
    key = options.get("signature_name", "serving_default") if isinstance(options, dict) else None
    if not isinstance(key, str):
        raise errors.invalid(
            f"'parameters': expected an object, its signature_name a string, received {shown(options)}"
        )
    spec = Spec(spec.name, spec.version, signature=key)

    async def read(_: Signature) -> dict[str, Array]:
        return dict(await loop.apart_if_large(size, lambda: list(map(_read_input, inputs))))

    wanted = [_output_name(output) for output in outputs]
    version, found = await service.predict(Call("Predict", "REST", deadline), spec, read, wanted)
    told = {"id": body["id"]} if isinstance(body.get("id"), str) else {}
    described = [_output(name, array) for name, array in found.items()]
    return {"model_name": spec.name, "model_version": str(version), **told, "outputs": described}


def _list_of(body: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = body.get(key, [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise errors.invalid(f"{key!r}: expected a list of objects, received {shown(found)}")
    return found


def _output_name(output: dict[str, Any]) -> str:
    name = output.get("name")
    if not isinstance(name, str):
        raise errors.invalid(f"'outputs': expected a name in each, received {shown(output)}")
    return name


def _read_input(given: dict[str, Any]) -> tuple[str, Array]:
    name, kind, shape = given.get("name"), given.get("datatype"), given.get("shape")
    if not isinstance(name, str) or not isinstance(kind, str) or kind not in _TYPES:
        raise errors.invalid(f"an input needs a name and a datatype of {', '.join(_TYPES)}, received {shown(given)}")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise errors.invalid(f"input {name!r}: expected a shape of sizes, received {shown(shape)}")
    array = read_array(given.get("data"), _TYPES[kind], f"input {name!r}")
    if len(shape) > _MAX_RANK or array.size != prod(shape):
        raise errors.invalid(f"input {name!r}: {array.size} values do not fill the shape {shown(shape)}")
    return name, array.reshape(shape)


def _output(name: str, array: Array) -> dict[str, Any]:
    data = write_array(array.reshape(-1), name)
    return {"name": name, "datatype": _datatype(dtypes.as_dtype(array.dtype)), "shape": list(array.shape), "data": data}
