"""Deferred restoration: objects that join a restored model later take their values from the checkpoint as well."""

from __future__ import annotations

import itertools
import weakref
from typing import Protocol


class Restoration(Protocol):
    """A checkpoint with values for objects that do not exist yet."""

    def restore_new(self) -> None:
        """Restores the objects that have been created since the last call."""


_serial = itertools.count()
_pending: weakref.WeakValueDictionary[int, Restoration] = weakref.WeakValueDictionary()  # newest last


def defer(restoration: Restoration) -> int:
    """Restores objects from a checkpoint when they are created, as long as the restoration lives; returns its key."""
    key = next(_serial)
    _pending[key] = restoration
    return key


def settle(key: int) -> None:
    """Ends a restoration."""
    _pending.pop(key, None)


def child_added() -> None:
    """Restores an object that has just become a child of another one; of several values, the newest one counts."""
    for restoration in list(_pending.values()):
        restoration.restore_new()


class RestoresChildren:
    """An object whose children are restored when they become its attributes."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if _pending:
            child_added()
