"""Resource containers: named namespaces for the state that stateful operations share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


class Containers:
    """Resources by container and name.

    The default container, "", belongs to one session; every other container is shared by all sessions of the process,
    so that two sessions that name the same container see the same variables.
    """

    _shared: dict[str, dict[tuple[str, str], Any]] = {}
    _lock = threading.Lock()

    def __init__(self) -> None:
        self._own: dict[tuple[str, str], Any] = {}

    def _container(self, container: str) -> dict[tuple[str, str], Any]:
        return self._own if not container else self._shared.setdefault(container, {})

    def lookup_or_create(self, container: str, resource_type: str, name: str, make: Callable[[], T]) -> T:
        """Returns the resource, creating it on first use."""
        with self._lock:
            resources = self._container(container)
            if (resource_type, name) not in resources:
                resources[resource_type, name] = make()
            return resources[resource_type, name]  # type: ignore[no-any-return]

    def clear(self) -> None:
        """Destroys the default container, when its session is closed."""
        with self._lock:
            resources, self._own = list(self._own.values()), {}
        _destroy(resources)

    @classmethod
    def reset(cls, containers: Iterable[str]) -> None:
        """Destroys the contents of the named shared containers."""
        with cls._lock:
            resources = [r for name in containers for r in cls._shared.pop(name, {}).values()]
        _destroy(resources)


def _destroy(resources: Iterable[Any]) -> None:
    for resource in resources:
        destroy = getattr(resource, "destroy", None)
        if destroy is not None:
            destroy()
