"""Admission control: which connections a server holds, which it closes at its limits, and when their time is over.

A state machine without sockets and without a clock. Connections of each state are in the order in which they entered
it, so that the first one is the oldest.
"""

from __future__ import annotations

import enum
import math
import socket
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import takewhile
from typing import Generic, TypeVar

from thalweg._src.base.errors import UnavailableError
from thalweg._src.cluster.distributed.limits import ConnectionLimits

_MAPPED = bytes(10) + b"\xff\xff"  # addresses of IPv4, as a socket of IPv6 shows them
K = TypeVar("K", bound=Hashable)


class State(enum.Enum):
    """What a connection does."""

    UNPROVED = enum.auto()  # has made no request that was accepted
    IDLE = enum.auto()
    RECEIVING = enum.auto()
    ANSWERING = enum.auto()
    SENDING = enum.auto()


@dataclass(slots=True)
class _Place:
    address: str
    state: State
    deadline: float


class Admission(Generic[K]):
    """The connections of a port.

    Args:
        limits: How many there may be, and for how long.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._places: dict[K, _Place] = {}
        self._of_state: dict[State, dict[K, None]] = {state: {} for state in State}
        self._of_address: dict[str, dict[K, None]] = {}  # of those that are not proved

    def __len__(self) -> int:
        return len(self._places)

    def state(self, connection: K) -> State | None:
        """Returns what a connection does, None if it was closed."""
        place = self._places.get(connection)
        return None if place is None else place.state

    def having(self, *states: State) -> list[K]:
        """Returns the connections in these states."""
        return [connection for state in states for connection in self._of_state[state]]

    def open(self, connection: K, address: str, now: float) -> K | None:
        """Takes a new connection; returns one to close instead."""
        # The oldest is closed: a client proves itself within moments, so what has been there for long is most likely
        # none. An address that has its share displaces its own; so no single one can close the connections of others,
        # as long as all together are below the limit.
        victim = None
        neighbours = self._of_address.get(address, {})
        if len(neighbours) >= self._limits.unproved_by_address:
            victim = next(iter(neighbours))
        elif len(self._of_state[State.UNPROVED]) >= self._limits.unproved:
            victim = next(iter(self._of_state[State.UNPROVED]))
        if victim is not None:
            self.close(victim)
        self._places[connection] = _Place(address, State.UNPROVED, now + self._limits.header_seconds)
        self._of_state[State.UNPROVED][connection] = None
        self._of_address.setdefault(address, {})[connection] = None
        return victim

    def prove(self, connection: K) -> K | None:
        """Takes a request of a connection that is accepted; returns another connection to close instead.

        A connection that was idle for long goes first, then one whose request has not arrived for long.
        """
        if self._places[connection].state is not State.UNPROVED:
            return None
        victim = None
        # Those that are not proved do not count here. A connection whose request is being answered does not have to go
        # for another: rather, the new one is refused.
        if len(self._places) - len(self._of_state[State.UNPROVED]) >= self._limits.connections:
            candidates = self._of_state[State.IDLE] or self._of_state[State.RECEIVING]
            if not candidates:
                raise UnavailableError(None, None, f"the server answers {self._limits.connections} connections already")
            victim = next(iter(candidates))
            self.close(victim)
        self.move(connection, State.RECEIVING)
        return victim

    def move(self, connection: K, state: State, deadline: float = math.inf) -> None:
        """Takes what a proved connection does from now on, and until when."""
        place = self._places[connection]
        if place.state is State.UNPROVED:
            self._forget_address(connection, place.address)
        del self._of_state[place.state][connection]
        self._of_state[state][connection] = None
        place.state, place.deadline = state, deadline

    def extend(self, connection: K, deadline: float) -> None:
        """Takes another deadline of what a connection does."""
        self._places[connection].deadline = deadline

    def close(self, connection: K) -> None:
        """Takes the end of a connection; it may have ended before."""
        place = self._places.pop(connection, None)
        if place is not None:
            del self._of_state[place.state][connection]
            if place.state is State.UNPROVED:
                self._forget_address(connection, place.address)

    def oldest(self) -> K | None:
        """Returns a connection to close when the process has too many files; None if all have requests."""
        return next(iter(self._of_state[State.UNPROVED] or self._of_state[State.IDLE]), None)

    def expired(self, now: float) -> list[K]:
        """Returns the connections whose time is over."""

        def is_late(connection: K) -> bool:
            return self._places[connection].deadline <= now

        over: list[K] = []
        for state, connections in self._of_state.items():
            is_in_order = state in (State.UNPROVED, State.IDLE)  # since all of them have the same time
            over.extend((takewhile if is_in_order else filter)(is_late, connections))
        return over

    def _forget_address(self, connection: K, address: str) -> None:
        neighbours = self._of_address[address]
        del neighbours[connection]
        if not neighbours:
            del self._of_address[address]


def group_of(address: str) -> str:
    """Returns what counts as one address: of IPv6, the network of 64 bits that a single machine may have."""
    if ":" not in address:
        return address
    packed = socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
    return socket.inet_ntop(socket.AF_INET, packed[12:]) if packed.startswith(_MAPPED) else packed[:8].hex()
