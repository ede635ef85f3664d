"""Paths with names from outside, which must not lead out of the folder that a program writes to or reads from."""

from __future__ import annotations

import os
from pathlib import PurePath

_SHOWN = 80  # characters of a name in an error


def leads_out(name: str) -> bool:
    """Returns whether a name that is joined to a folder may be outside of it."""
    return "\0" in name or ".." in PurePath(name).parts or PurePath(name).is_absolute()


def is_below(path: str, folder: str) -> bool:
    """Returns whether a path leads to a folder, or into it, once symbolic links are followed."""
    real, root = os.path.realpath(path), os.path.realpath(folder)
    return real == root or real.startswith(os.path.join(root, ""))


def inside(folder: str, name: str) -> str:
    """Returns the path of a file in a folder; raises ValueError for a name that leads out of it."""
    if leads_out(name):
        raise ValueError(
            f"{name[:_SHOWN]!r} is refused as the name of a file, since it leads out of the folder {folder}"
        )
    return os.path.join(folder, name)
