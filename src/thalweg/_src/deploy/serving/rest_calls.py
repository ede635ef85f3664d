"""The calls of a client over REST."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from thalweg._src.base import dtypes, errors
from thalweg._src.base.formats.example import parse_message
from thalweg._src.deploy.serving.access import Access
from thalweg._src.deploy.serving.inference import Classes
from thalweg._src.deploy.serving.json_text import dumps, loads
from thalweg._src.deploy.serving.json_values import read_array, write_array
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.protos import message_class
from thalweg._src.deploy.serving.rest_server import HTTP_STATUS
from thalweg._src.deploy.serving.tensors import Array, as_array

_ERRORS = {status: code for code, status in reversed(HTTP_STATUS.items())}


class RestCalls:
    """Calls a server at an address.

    Args:
        address: Scheme, host and port, such as http://localhost:8501.
        access: The token and the certificates of this client.
        timeout: The most seconds that a call may take, or None.
    """

    def __init__(self, address: str, access: Access, timeout: float | None) -> None:
        url = urlsplit(address)
        if not url.hostname:
            raise errors.invalid(f"address: expected http://HOST:PORT, received {address!r}")
        self._host, self._port, self._timeout = url.hostname, url.port, timeout
        self._context = None
        if url.scheme == "https":
            self._context = None if access.tls is None else access.tls.context(is_server=False)
        self._is_secure = url.scheme == "https"
        self._headers = {"content-type": "application/json"}
        if access.token is not None:
            self._headers["authorization"] = f"Bearer {access.token.decode()}"
        self._free: list[http.client.HTTPConnection] = []  # connections without a call, the latest one last
        self._lock = threading.Lock()
        self._signatures: dict[Spec, Any] = {}

    def predict(self, spec: Spec, inputs: Mapping[str, Any], outputs: list[str]) -> dict[str, Array]:
        body = {"inputs": {name: write_array(as_array(value), name) for name, value in inputs.items()}}
        addressed = Spec(spec.name, spec.version, spec.label)
        if addressed not in self._signatures:
            self._signatures[addressed] = self.signatures(addressed)
        outputs_json = self._post(spec, "predict", body)["outputs"]
        ports = self._signatures[addressed][spec.signature or "serving_default"].outputs
        values = {next(iter(ports)): outputs_json} if len(ports) == 1 else outputs_json
        types = {name: dtypes.as_dtype(ports[name].dtype) for name in values}
        return {name: read_array(values[name], types[name], name) for name in outputs or values}

    def classify(self, spec: Spec, examples: list[bytes]) -> list[Classes]:
        response = self._post(spec, "classify", {"examples": list(map(_features, examples))})
        return [[(label, score) for label, score in row] for row in response["results"]]

    def regress(self, spec: Spec, examples: list[bytes]) -> list[float]:
        response = self._post(spec, "regress", {"examples": list(map(_features, examples))})
        return list(map(float, response["results"]))

    def status(self, spec: Spec) -> dict[int, str]:
        versions = self._request("GET", _path(spec))["model_version_status"]
        return {int(version["version"]): str(version["state"]) for version in versions}

    def signatures(self, spec: Spec) -> Any:
        from google.protobuf import json_format

        definitions = self._request("GET", f"{_path(spec)}/metadata")["metadata"]["signature_def"]
        return json_format.ParseDict(
            definitions, message_class("SignatureDefMap")(), ignore_unknown_fields=True
        ).signature_def

    def close(self) -> None:
        with self._lock:
            for connection in self._free:
                connection.close()
            self._free.clear()

    def _post(self, spec: Spec, method: str, body: dict[str, Any]) -> dict[str, Any]:
        if spec.signature:
            body["signature_name"] = spec.signature
        return self._request("POST", f"{_path(spec)}:{method}", dumps(body))

    def _request(self, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        """Makes a call on a connection that is free; one that the server has closed meanwhile is opened again."""
        with self._lock:
            is_used = bool(self._free)
            connection = self._free.pop() if is_used else self._connect()
        try:
            connection.request(method, path, body, self._headers)
            response = connection.getresponse()
            content = response.read()
        except TimeoutError:
            connection.close()
            raise errors.DeadlineExceededError(None, None, f"{self._host} did not answer in time") from None
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if is_used and isinstance(error, ConnectionError):
                return self._request(method, path, body)
            raise errors.UnavailableError(None, None, f"{self._host}:{self._port} cannot be reached: {error}") from None
        with self._lock:
            self._free.append(connection)
        return _read(response.status, content)

    def _connect(self) -> http.client.HTTPConnection:
        if self._is_secure:
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)


def _path(spec: Spec) -> str:
    path = f"/v1/models/{quote(spec.name, safe='')}"
    if spec.version is not None:
        return f"{path}/versions/{spec.version}"
    return path if spec.label is None else f"{path}/labels/{quote(spec.label, safe='')}"


def _read(status: int, content: bytes) -> dict[str, Any]:
    """Returns the object of a response; raises the error that it holds."""
    try:
        response = loads(content)
    except ValueError:
        response = {"error": content[:200].decode("utf-8", "replace")}
    if status == http.client.OK and isinstance(response, dict):
        return response
    message = response["error"] if isinstance(response, dict) and "error" in response else repr(response)[:200]
    kind = errors.exception_type_from_error_code(_ERRORS.get(status, errors.UNKNOWN))
    raise kind(None, None, str(message))


def _features(example: bytes) -> dict[str, Any]:
    """Returns an Example as the JSON object of its features."""
    features: dict[str, Any] = {}
    for name, feature in parse_message("Example", example).features.feature.items():
        kind = feature.WhichOneof("kind")
        values = list(getattr(feature, kind).value) if kind else []
        features[name] = write_array(as_array(values), name) if kind == "bytes_list" and values else values
    return features
