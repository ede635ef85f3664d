"""The Open Inference Protocol (KServe version 2) over REST, `/v2/...`: a handler for each route."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.deploy.serving.inference import prediction
from thalweg._src.deploy.serving.json_text import dumps, shown
from thalweg._src.deploy.serving.json_values import read_array, write_array
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.rest_api import RestRequest
from thalweg._src.deploy.serving.servable import Port
from thalweg._src.deploy.serving.tensors import Array
from thalweg._src.graph.versions import THALWEG_VERSION

MODEL = r"/v2/models/(?P<name>[^/]+)(?:/versions/(?P<version>\d{1,18}))?"
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


async def server_metadata(_: RestRequest) -> bytes:
    return dumps({"name": "thalweg", "version": THALWEG_VERSION, "extensions": []})


async def live(_: RestRequest) -> bytes:
    return dumps({"live": True})


async def ready(request: RestRequest) -> bytes:
    if not request.service.manager.is_ready():
        raise errors.UnavailableError(None, None, "a model is not ready")
    return dumps({"ready": True})


async def refuse_path(request: RestRequest) -> bytes:
    raise errors.NotFoundError(None, None, f"Malformed request: {request.method} {request.path.string}")


def _spec(request: RestRequest, signature: str = "") -> Spec:
    version = request.path["version"]
    return Spec(request.path["name"], int(version) if version else None, signature=signature)


async def model_ready(request: RestRequest) -> bytes:
    spec = _spec(request)
    request.service.signatures(spec)  # raises, if there is no such version
    return dumps({"name": spec.name, "ready": True})


async def model_metadata(request: RestRequest) -> bytes:
    spec = _spec(request)
    version, signatures = request.service.signatures(spec)
    signature = signatures.get("serving_default") or next(iter(signatures.values()), None)
    description = {
        "name": spec.name,
        "versions": [str(version)],
        "platform": "tensorflow_savedmodel",
        "inputs": _described(signature.inputs if signature else {}),
        "outputs": _described(signature.outputs if signature else {}),
    }
    return dumps(description)


def _described(ports: Mapping[str, Port]) -> list[dict[str, Any]]:
    return [
        {"name": name, "datatype": _datatype(port.dtype), "shape": [-1 if n is None else n for n in port.shape or ()]}
        for name, port in ports.items()
    ]


def _datatype(dtype: DType) -> str:
    if dtype not in _NAMES:
        raise errors.invalid(f"the Open Inference Protocol has no type {dtype.name}; use gRPC")
    return _NAMES[dtype]


async def infer(request: RestRequest) -> bytes:
    body = await request.body()
    inputs, outputs = _list_of(body, "inputs"), _list_of(body, "outputs")
    options = body.get("parameters") or {}
    key = options.get("signature_name", "serving_default") if isinstance(options, dict) else None
    if not isinstance(key, str):
        raise errors.invalid(
            f"'parameters': expected an object, its signature_name a string, received {shown(options)}"
        )
    spec, call, names = _spec(request, key), request.call("Predict"), list(map(_output_name, outputs))
    with request.service.signature(call, spec) as (version, signature):
        arrays = await request.loop.in_thread_if_large(len(request.content), lambda: dict(map(_read_input, inputs)))
        arrays = await request.service.predict(call, prediction(signature, arrays, names, call.deadline))
    id_field = {"id": body["id"]} if isinstance(body.get("id"), str) else {}
    answer = {"model_name": spec.name, "model_version": str(version), **id_field}
    return dumps({**answer, "outputs": [_output(name, array) for name, array in arrays.items()]})


def _list_of(body: dict[str, Any], key: str) -> list[dict[str, Any]]:
    tensors = body.get(key, [])
    if not isinstance(tensors, list) or not all(isinstance(tensor, dict) for tensor in tensors):
        raise errors.invalid(f"{key!r}: expected a list of objects, received {shown(tensors)}")
    return tensors


def _output_name(output: dict[str, Any]) -> str:
    name = output.get("name")
    if not isinstance(name, str):
        raise errors.invalid(f"'outputs': expected a name in each, received {shown(output)}")
    return name


def _read_input(tensor: dict[str, Any]) -> tuple[str, Array]:
    name, kind, shape = tensor.get("name"), tensor.get("datatype"), tensor.get("shape")
    if not isinstance(name, str) or not isinstance(kind, str) or kind not in _TYPES:
        raise errors.invalid(f"an input needs a name and a datatype of {', '.join(_TYPES)}, received {shown(tensor)}")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise errors.invalid(f"input {name!r}: expected a shape of sizes, received {shown(shape)}")
    array = read_array(tensor.get("data"), _TYPES[kind], f"input {name!r}")
    if len(shape) > _MAX_RANK or array.size != prod(shape):
        raise errors.invalid(f"input {name!r}: {array.size} values do not fill the shape {shown(shape)}")
    return name, array.reshape(shape)


def _output(name: str, array: Array) -> dict[str, Any]:
    data = write_array(array.reshape(-1), name)
    return {"name": name, "datatype": _datatype(dtypes.as_dtype(array.dtype)), "shape": list(array.shape), "data": data}
