"""Clients of a model server, of this one or of TensorFlow Serving, over gRPC or REST, without TensorFlow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any, Self

from thalweg._src.base.export import export
from thalweg._src.base.signatures import parameters_of
from thalweg._src.deploy.serving.access import Access
from thalweg._src.deploy.serving.grpc_calls import GrpcCalls
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.rest_calls import RestCalls
from thalweg._src.deploy.serving.tensors import Array

_THREADS = 32


def _serialized(examples: Iterable[Any]) -> list[bytes]:
    return [example if isinstance(example, bytes) else bytes(example.SerializeToString()) for example in examples]


@export("serving.Client")
class Client:
    """Calls a model server; a context manager that closes the connection.

    Certificates are those that the environment variables THALWEG_SERVING_TLS_... name.

    Args:
        address: Host and port of gRPC, or http:// or https:// with host and port of REST.
        token: The token of the server; by default that of the environment variable THALWEG_SERVING_TOKEN.
        timeout: The most seconds that a call may take; None waits without end.
    """

    def __init__(self, address: str, token: str | None = None, timeout: float | None = None) -> None:
        access = Access.find("localhost")
        if token is not None:
            access = Access(token.encode(), access.tls)
        is_rest = address.startswith(("http://", "https://"))
        self._calls = RestCalls(address, access, timeout) if is_rest else GrpcCalls(address, access, timeout)

    def predict(
        self,
        model: str,
        inputs: Mapping[str, Any],
        signature_name: str = "",
        version: int | None = None,
        version_label: str | None = None,
        outputs: Iterable[str] = (),
    ) -> dict[str, Array]:
        """Returns the outputs of a signature for inputs by name."""
        return self._calls.predict(Spec(model, version, version_label, signature_name), inputs, list(outputs))

    def classify(
        self,
        model: str,
        examples: Iterable[Any],
        signature_name: str = "",
        version: int | None = None,
        version_label: str | None = None,
    ) -> list[list[tuple[str, float]]]:
        """Returns labels and scores of each Example."""
        return self._calls.classify(Spec(model, version, version_label, signature_name), _serialized(examples))

    def regress(
        self,
        model: str,
        examples: Iterable[Any],
        signature_name: str = "",
        version: int | None = None,
        version_label: str | None = None,
    ) -> list[float]:
        """Returns the number of each Example."""
        return self._calls.regress(Spec(model, version, version_label, signature_name), _serialized(examples))

    def status(self, model: str, version: int | None = None) -> dict[int, str]:
        """Returns the state of each version, such as AVAILABLE."""
        return self._calls.status(Spec(model, version))

    def signatures(self, model: str, version: int | None = None) -> Any:
        """Returns the signatures of a model by name, as SignatureDef messages."""
        return self._calls.signatures(Spec(model, version))

    def close(self) -> None:
        """Closes the connection."""
        self._calls.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@export("serving.AsyncClient")
class AsyncClient:
    """Calls a model server from coroutines, several calls at a time; an asynchronous context manager.

    Args:
        address: Host and port of gRPC, or http:// or https:// with host and port of REST.
        token: The token of the server; by default that of the environment variable THALWEG_SERVING_TOKEN.
        timeout: The most seconds that a call may take; None waits without end.
    """

    def __init__(self, address: str, token: str | None = None, timeout: float | None = None) -> None:
        self._client = Client(address, token, timeout)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="thalweg serving client")

    async def _call(self, method: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(method, **arguments))

    @parameters_of(Client.predict)
    async def predict(self, **arguments: Any) -> Any:
        """Returns the outputs of a signature for inputs by name."""
        return await self._call(self._client.predict, arguments)

    @parameters_of(Client.classify)
    async def classify(self, **arguments: Any) -> Any:
        """Returns labels and scores of each Example."""
        return await self._call(self._client.classify, arguments)

    @parameters_of(Client.regress)
    async def regress(self, **arguments: Any) -> Any:
        """Returns the number of each Example."""
        return await self._call(self._client.regress, arguments)

    @parameters_of(Client.status)
    async def status(self, **arguments: Any) -> Any:
        """Returns the state of each version, such as AVAILABLE."""
        return await self._call(self._client.status, arguments)

    @parameters_of(Client.signatures)
    async def signatures(self, **arguments: Any) -> Any:
        """Returns the signatures of a model by name, as SignatureDef messages."""
        return await self._call(self._client.signatures, arguments)

    async def close(self) -> None:
        """Closes the connection, after the calls that are being answered."""
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)
        self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
