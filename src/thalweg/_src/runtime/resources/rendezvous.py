"""Rendezvous: where the partitions of a step exchange tensors by key."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Receive = Callable[[Any], None]


def rendezvous_key(source: str, destination: str, name: str) -> str:
    """Returns the key of a transfer: each tensor is sent to each destination once per step, or once per iteration."""
    return f"{source};{destination};{name}"


class Many(NamedTuple):
    """Several values under one key."""

    values: Sequence[Any]


class Rendezvous:
    """A table of keys in which values wait for receivers, or receivers for values, without holding a thread.

    Both sides of a loop run its iterations in order, so the n-th value of a key belongs to its n-th receiver.
    """

    __slots__ = ("_lock", "_receivers", "_values")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, deque[Any]] = {}
        self._receivers: dict[str, deque[Receive]] = {}

    def deliver(self, key: str, value: object) -> None:
        """Hands a value to its receiver in this process, now or when one comes."""
        # A key has waiting values or waiting receivers, never both: whichever comes second takes the first of the other
        # side. The receiver is called without the lock, since it may run segments that send again.
        with self._lock:
            receiver = _first(self._receivers, key)
            if receiver is None:
                self._values.setdefault(key, deque()).append(value)
        if receiver is not None:
            receiver(value)

    send = deliver  # what a kernel calls: where tasks exchange tensors, it sends those that other tasks receive

    def receive(self, key: str, receiver: Receive) -> None:
        """Calls the receiver with the value, now or when it arrives."""
        with self._lock:
            if key not in self._values:
                self._receivers.setdefault(key, deque()).append(receiver)
                return
            value = _first(self._values, key)
        receiver(value)


def _first(queues: dict[str, deque[Any]], key: str) -> Any:
    """Pops the first entry of a key's queue; None if there is none."""
    queue = queues.get(key)
    if queue is None:
        return None
    first = queue.popleft()
    if not queue:
        del queues[key]
    return first
