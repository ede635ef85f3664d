"""Limits on what the clients of a model server may take, and the endpoint that they hold for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Self

from thalweg._src.base import errors
from thalweg._src.base.export import export
from thalweg._src.deploy.serving.access import Access


@export("serving.Limits")
@dataclass(frozen=True, slots=True)
class Limits:
    """What clients may take from a process of a server, so that strangers cannot exhaust it.

    A connection is proved once it has made a request that the server accepts: with the token, if there is one. At a
    limit, the oldest connection that is not proved is closed, never one whose request is being answered.

    Args:
        connections: How many proved connections each port has. Beyond, idle ones are closed.
        unproved: How many other connections each port has.
        unproved_by_address: How many of those come from one address.
        header_bytes: The size of the headers of a request.
        headers: The number of headers of a request.
        header_seconds: The time until a new connection has sent the headers of a request.
        idle_seconds: The time that a proved connection may be idle.
        transfer_seconds: The time that a body or an answer may take beyond that of its bytes at `bytes_per_second`.
        bytes_per_second: The lowest rate of bodies and answers.
        bytes_in_flight: The size of all requests and answers that the process holds.
        streams: How many calls one connection of gRPC makes at the same time.
    """

    connections: int = 1024
    unproved: int = 1024
    unproved_by_address: int = 512
    header_bytes: int = 1 << 14
    headers: int = 100
    header_seconds: float = 10.0
    idle_seconds: float = 75.0
    transfer_seconds: float = 20.0
    bytes_per_second: int = 1 << 15
    bytes_in_flight: int = 1 << 28
    streams: int = 100

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise errors.invalid(f"limits: expected {field.name} to be more than 0, received {value!r}")

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Self:
        """Returns the limits of texts such as `connections=100`; the others have their defaults."""
        types = {field.name: int if field.type == "int" else float for field in fields(cls)}
        values: dict[str, float] = {}
        for text in texts:
            name, _, number = text.partition("=")
            if name not in types:
                raise errors.invalid(
                    f"limits: expected NAME=NUMBER, with a name of {', '.join(types)}; received {text!r}"
                )
            try:
                values[name] = types[name](number)
            except ValueError:
                kind = "an integer" if types[name] is int else "a number"
                raise errors.invalid(f"limits: expected {kind} for {name}, received {number!r}") from None
        return cls(**values)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a protocol is served, to whom and within which limits.

    Args:
        address: Host and port; the port 0 stands for any free one.
        access: Who may call.
        limits: What clients may take.
        max_request_bytes: The limit on the size of a request.
        reuse_port: Whether other processes may listen at the same address.
    """

    address: str
    access: Access
    limits: Limits
    max_request_bytes: int
    reuse_port: bool = False

    @property
    def host(self) -> str:
        """The name or address without the port."""
        return self.address.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port, 0 for any free one."""
        return int(self.address.rpartition(":")[2])


class BytesInFlight:
    """The sizes of the requests and answers that a process holds.

    Args:
        limit: The most bytes at the same time.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = 0

    def take(self, count: int) -> None:
        """Records bytes that arrive; raises UnavailableError if there are too many."""
        if self._count + count > self._limit:
            error = errors.UnavailableError(None, None, f"the server holds {self._count} bytes of other requests")
            error.retry_after = 1.0  # type: ignore[attr-defined]
            raise error
        self._count += count

    def add(self, count: int) -> None:
        """Records bytes of an answer, which exists already, and so is not refused."""
        self._count += count

    def give(self, count: int) -> None:
        """Records that a request or its answer has ended."""
        self._count -= count
