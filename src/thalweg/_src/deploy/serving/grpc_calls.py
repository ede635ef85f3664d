"""The calls of a client over gRPC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.formats.message_types import Message
from thalweg._src.deploy.serving.access import Access
from thalweg._src.deploy.serving.inference import Classes
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.protos import PACKAGE, message_class
from thalweg._src.deploy.serving.tensors import Array, as_array, read_tensor, write_tensor


class GrpcCalls:
    """Calls a server at an address.

    Args:
        address: Host and port.
        access: The token and the certificates of this client.
        timeout: The most seconds that a call may take, or None.
    """

    def __init__(self, address: str, access: Access, timeout: float | None) -> None:
        import grpc

        sizes = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        if access.tls is None:
            self._channel = grpc.insecure_channel(address, sizes)
        else:
            credentials = grpc.ssl_channel_credentials(*access.tls_contents())
            self._channel = grpc.secure_channel(address, credentials, sizes)
        self._metadata = () if access.token is None else (("authorization", f"Bearer {access.token.decode()}"),)
        self._timeout = timeout
        self._methods: dict[str, Any] = {}

    def predict(self, spec: Spec, inputs: Mapping[str, Any], outputs: list[str]) -> dict[str, Array]:
        request = message_class("PredictRequest")(output_filter=outputs)
        _write_spec(spec, request.model_spec)
        for name, value in inputs.items():
            write_tensor(as_array(value), request.inputs[name])
        response = self._call("PredictionService", "Predict", request, "PredictResponse")
        return {name: read_tensor(name, tensor) for name, tensor in response.outputs.items()}

    def classify(self, spec: Spec, examples: list[bytes]) -> list[Classes]:
        request = message_class("ClassificationRequest")()
        _write_spec(spec, request.model_spec)
        request.input.example_list.examples.extend(examples)
        response = self._call("PredictionService", "Classify", request, "ClassificationResponse")
        return [[(entry.label, entry.score) for entry in row.classes] for row in response.result.classifications]

    def regress(self, spec: Spec, examples: list[bytes]) -> list[float]:
        request = message_class("RegressionRequest")()
        _write_spec(spec, request.model_spec)
        request.input.example_list.examples.extend(examples)
        response = self._call("PredictionService", "Regress", request, "RegressionResponse")
        return [regression.value for regression in response.result.regressions]

    def status(self, spec: Spec) -> dict[int, str]:
        request = message_class("GetModelStatusRequest")()
        _write_spec(spec, request.model_spec)
        response = self._call("ModelService", "GetModelStatus", request, "GetModelStatusResponse")
        states = message_class("ModelVersionStatus").State
        return {version.version: states.Name(version.state) for version in response.model_version_status}

    def signatures(self, spec: Spec) -> Any:
        request = message_class("GetModelMetadataRequest")(metadata_field=["signature_def"])
        _write_spec(spec, request.model_spec)
        response = self._call("PredictionService", "GetModelMetadata", request, "GetModelMetadataResponse")
        signatures = message_class("SignatureDefMap")()
        response.metadata["signature_def"].Unpack(signatures)
        return signatures.signature_def

    def close(self) -> None:
        self._channel.close()

    def _call(self, service: str, method: str, request: Message, response: str) -> Any:
        import grpc

        if method not in self._methods:
            self._methods[method] = self._channel.unary_unary(f"/{PACKAGE}.{service}/{method}")
        try:
            content = self._methods[method](request.SerializeToString(), self._timeout, self._metadata)
        except grpc.RpcError as error:
            kind = errors.exception_type_from_error_code(error.code().value[0])
            raise kind(None, None, error.details()) from None
        return message_class(response).FromString(content)


def _write_spec(spec: Spec, message: Message) -> None:
    message.name, message.signature_name = spec.name, spec.signature
    if spec.version is not None:
        message.version.value = spec.version
    if spec.label is not None:
        message.version_label = spec.label
