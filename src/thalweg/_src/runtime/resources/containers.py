"""Resource containers: named namespaces for the state that stateful operations share."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


Resources = dict[tuple[str, str], Any]


class SharedContainers:
    """Named containers, which sessions share: all of one process, or all of one server."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._containers: dict[str, Resources] = {}

    def find(self, container: str) -> Resources:
        """Returns the resources of a container; the caller holds the lock."""
        return self._containers.setdefault(container, {})

    def reset(self, containers: Iterable[str] | None = None) -> None:
        """Destroys the contents of the named containers, or of all."""
        with self.lock:
            names = list(self._containers) if containers is None else containers
            resources = [r for name in names for r in self._containers.pop(name, {}).values()]
        _destroy(resources)


PROCESS = SharedContainers()


class Containers:
    """Resources by container and name.

    The default container, "", belongs to one session, or in a server to all of its sessions; every other container is
    shared, so that two sessions that name the same container see the same variables. The incarnation is a random number
    that changes when the default container is destroyed: where it is the same, the resources are the same.
    """

    def __init__(self, shared: SharedContainers = PROCESS) -> None:
        self._shared = shared
        self._default: Resources = {}
        self.incarnation = _new_incarnation()

    def lookup_or_create(self, container: str, resource_type: str, name: str, make: Callable[[], T]) -> T:
        """Returns the resource, creating it on first use."""
        with self._shared.lock:
            resources = self._shared.find(container) if container else self._default
            if (resource_type, name) not in resources:
                resources[resource_type, name] = make()
            return resources[resource_type, name]  # type: ignore[no-any-return]

    def lookup(self, container: str, resource_type: str, name: str) -> Any:
        """Returns the resource, or None if it has not been created."""
        with self._shared.lock:
            resources = self._shared.find(container) if container else self._default
            return resources.get((resource_type, name))

    def clear(self) -> None:
        """Destroys the default container, when its session is closed."""
        with self._shared.lock:
            resources, self._default = list(self._default.values()), {}
            self.incarnation = _new_incarnation()
        _destroy(resources)


def _new_incarnation() -> int:
    return secrets.randbits(62) + 1  # 0 is unknown


def _destroy(resources: Iterable[Any]) -> None:
    for resource in resources:
        destroy = getattr(resource, "destroy", None)
        if destroy is not None:
            destroy()
