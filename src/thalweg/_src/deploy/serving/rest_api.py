"""TensorFlow Serving's REST API, `/v1/...`: a handler for each route, from a request to the body of its answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from thalweg._src.base import errors
from thalweg._src.base.formats.message_types import Message
from thalweg._src.deploy.saved_model.signatures import CLASSIFY_METHOD_NAME, REGRESS_METHOD_NAME
from thalweg._src.deploy.serving import json_values
from thalweg._src.deploy.serving.event_loop import EventLoop
from thalweg._src.deploy.serving.grpc_server import write_spec
from thalweg._src.deploy.serving.inference import prediction
from thalweg._src.deploy.serving.json_text import dumps, parse
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.protos import message_class
from thalweg._src.deploy.serving.service import CODES, Call, Service

_METHODS = {"classify": CLASSIFY_METHOD_NAME, "regress": REGRESS_METHOD_NAME}
MODEL = r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"


@dataclass(frozen=True, slots=True)
class RestRequest:
    """A request on its way to the handler of its route.

    path: the match of the pattern of the route
    deadline: on the monotonic clock, or None
    """

    service: Service
    loop: EventLoop
    method: str
    path: re.Match[str]
    content: bytes
    deadline: float | None

    async def body(self) -> dict[str, Any]:
        """Returns the JSON object of the request."""
        return await self.loop.in_thread_if_large(len(self.content), parse, self.content)

    def call(self, api: str) -> Call:
        """Returns the call that the request makes."""
        return Call(api, "REST", self.deadline)


def _spec(request: RestRequest, signature: str = "") -> Spec:
    name, version, label = request.path["name"], request.path["version"], request.path["label"]
    if version is not None and len(version) > 18:
        raise errors.invalid(f"Failed to convert version: {version:.50} to numeric.")
    label = None if label is None else unquote(label)
    return Spec(unquote(name), None if version is None else int(version), label, signature)


async def predict(request: RestRequest) -> bytes:
    body = await request.body()
    spec, call = _spec(request, json_values.signature_of(body)), request.call("Predict")
    as_rows, in_thread_if_large = json_values.is_row_format(body), request.loop.in_thread_if_large
    with request.service.signature(call, spec) as (_, signature):
        inputs = await in_thread_if_large(len(request.content), json_values.read_inputs, body, signature)
        outputs = await request.service.predict(call, prediction(signature, inputs, (), call.deadline))
    size = sum(array.nbytes for array in outputs.values())
    return await in_thread_if_large(size, lambda: dumps(json_values.write_outputs(outputs, as_rows)))


async def classify_or_regress(request: RestRequest) -> bytes:
    body, api = await request.body(), request.path["method"]
    spec, call = _spec(request, json_values.signature_of(body)), request.call(api.title())
    examples = json_values.read_examples(body)
    _, results = await request.service.classify_or_regress(call, spec, _METHODS[api], examples)
    return dumps({"results": results})


async def refuse_method(request: RestRequest) -> bytes:
    method = request.path["method"]
    raise errors.invalid(f"Malformed request: expected :predict, :classify or :regress, received :{method:.50}")


async def status(request: RestRequest) -> bytes:
    states = []
    for version, status in request.service.manager.status(_spec(request)).items():
        code, text = (errors.OK, "") if status.error is None else (status.error.error_code, status.error.message)
        error = {"error_code": CODES[code], "error_message": text}
        states.append({"version": str(version), "state": status.state.name, "status": error})
    return dumps({"model_version_status": states})


async def metadata(request: RestRequest) -> bytes:
    from google.protobuf import json_format

    spec = _spec(request)
    version, definitions = request.service.definitions(spec)
    message = message_class("ModelSpec")()
    write_spec(spec, version, message)

    def as_json(message: Message) -> Any:
        return json_format.MessageToDict(
            message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )

    return dumps({"model_spec": as_json(message), "metadata": {"signature_def": as_json(definitions)}})


async def metrics(request: RestRequest) -> bytes:
    return (await request.service.report()).encode()


async def refuse_path(request: RestRequest) -> bytes:
    raise errors.invalid(f"Malformed request: {request.method} {request.path.string[:200]}")
