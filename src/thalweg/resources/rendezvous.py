"""Rendezvous: where the partitions of a step hand each other tensors by key."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Receive = Callable[[Any], None]


def rendezvous_key(source: str, destination: str, name: str) -> str:
    """Returns the key of a transfer: each tensor meets each destination once a step."""
    return f"{source};{destination};{name}"


class Rendezvous:
    """A table of keys: a value waits for its receiver, or a receiver for its value; nobody holds a thread."""

    __slots__ = ("_lock", "_receivers", "_values")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, Any] = {}
        self._receivers: dict[str, Receive] = {}

    def send(self, key: str, value: Any) -> None:
        with self._lock:
            receiver = self._receivers.pop(key, None)
            if receiver is None:
                if key in self._values:
                    raise ValueError(f"a value was sent twice under {key!r}")
                self._values[key] = value
        if receiver is not None:
            receiver(value)

    def receive(self, key: str, receiver: Receive) -> None:
        """Calls the receiver with the value, now or when it comes."""
        with self._lock:
            if key not in self._values:
                if key in self._receivers:
                    raise ValueError(f"two receivers wait for {key!r}")
                self._receivers[key] = receiver
                return
            value = self._values.pop(key)
        receiver(value)
