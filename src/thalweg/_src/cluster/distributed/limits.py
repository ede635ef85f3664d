"""Limits on what a task accepts from others, so that a malformed message ends its connection and nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from thalweg._src.base import errors

VALUE = "THALWEG_CLUSTER_MAX_VALUE_MB"  # one value of a step
EARLY = "THALWEG_CLUSTER_MAX_EARLY_MB"  # tensors of one task for steps that have not started here
GRAPH = "THALWEG_CLUSTER_MAX_GRAPH_MB"  # one message of the control plane

MAX_DESCRIPTION = 1 << 24  # bytes of the description of a frame
MAX_VALUES = 1 << 20  # values of a frame
MAX_RANK = 254
MAX_DEPTH = 8  # of lists in lists
MAX_KEY = 1 << 16  # bytes of the key of a tensor
MAX_ERROR = 1 << 20  # bytes of the description of an error
MAX_MESSAGE = 1 << 14  # characters of the message of an error
MAX_OUTBOX = 1 << 16  # messages that wait for the other end of a link to read
MAX_FIELDS = 1 << 26  # bytes of the fields of a message of the control plane
MAX_EARLY_STEPS = 1024  # steps that have not started here, with tensors of one task
MAX_CHANNELS = 1024  # channels of one task or client: steps that it runs here at the same time

_GRPC_MB = 2047  # gRPC counts the bytes of a message in 32 bits


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that depend on the machine and on the models, in bytes."""

    value_bytes: int
    early_bytes: int
    graph_bytes: int

    @classmethod
    def find(cls, environ: Mapping[str, str] = os.environ) -> Limits:
        """Returns the limits that the environment names; by default, what fits into the memory of this machine."""
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return cls(
            _megabytes(environ, VALUE, memory),
            _megabytes(environ, EARLY, memory // 2),
            min(_megabytes(environ, GRAPH, _GRPC_MB << 20), _GRPC_MB << 20),
        )


class ConnectionLimits(Protocol):
    """How many connections a port has, and for how long each may take to prove itself."""

    @property
    def connections(self) -> int:
        """How many of those that have proved themselves."""

    @property
    def unproved(self) -> int:
        """How many others."""

    @property
    def unproved_by_address(self) -> int:
        """How many of those from one address."""

    @property
    def header_seconds(self) -> float:
        """The time until a connection has to have proved itself."""


@dataclass(frozen=True, slots=True)
class TaskConnections:
    """The limits of each port of a task; those who hold credentials are not limited here."""

    connections: int = 1 << 30
    unproved: int = 512
    unproved_by_address: int = 256
    header_seconds: float = 10.0


def _megabytes(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name)
    if not text:
        return default
    if not text.isdecimal() or int(text) == 0:
        raise errors.invalid(f"{name} is {text!r}, and not a number of megabytes")
    return int(text) << 20
