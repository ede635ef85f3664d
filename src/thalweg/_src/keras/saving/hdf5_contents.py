"""Contents of HDF5 files from outside: groups, attributes and data sets, checked before they are read.

A file can refer to others (external links, external storage, virtual data sets), and its data sets can claim any size
without having the values. Neither is followed or read here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from thalweg._src.errors import MissingPackageError
from thalweg._src.formats.regular import require_regular
from thalweg._src.graph.graph_def_checks import shown

Array = np.ndarray[Any, Any]
_CHUNK = 1 << 24  # bytes of a chunk that any data set may have
_TEXTS = 1 << 12  # of variable length in an attribute; no more fit into one as most programs write it
_NUMBERS = "biufc"
ANY_KIND = f"{_NUMBERS}OSUVmM"
_HINT = "copy the values into one file if you know where it comes from"


class RefusedContentError(ValueError):
    """A file refers to others, or its contents cannot be what they claim; `refused` is the place in the file."""

    def __init__(self, place: str, why: str) -> None:
        self.refused = place
        super().__init__(f"{shown(place)} in the HDF5 file {why}")


def h5py() -> Any:
    """Returns the package h5py, which only HDF5 files need."""
    try:
        import h5py as found
    except ImportError:
        raise MissingPackageError("an HDF5 file", "h5py", "'thalweg[keras]'") from None
    return found


def open_file(path: Any) -> Any:
    """Returns an HDF5 file, opened for reading."""
    require_regular(path)
    return h5py().File(path, "r")


def link_to(group: Any, name: str) -> Any:
    """Returns how a group refers to a member, which is not opened; None if there is none of that name."""
    return group.get(name, getlink=True) if isinstance(group, h5py().Group) else None


def member(group: Any, path: str) -> Any:
    """Returns the group or the data set at a path in a group, if all of the path is in the file itself."""
    found = group
    for name in (each for each in path.split("/") if each not in ("", ".")):
        place, link = f"{found.name.rstrip('/')}/{name}", link_to(found, name)
        if link is None:
            raise KeyError(f"{shown(place)} is not in the HDF5 file")
        if not isinstance(link, h5py().HardLink):
            raise RefusedContentError(place, f"is a link, which may lead to another file, and is refused; {_HINT}")
        found = found[name]
    return found


def dataset(group: Any, path: str, kinds: str = _NUMBERS) -> Any:
    """Returns the data set at a path in a group, if its values are in the file; nothing is read.

    kinds: of the types that it may have, as NumPy has them
    """
    found = member(group, path)
    if not isinstance(found, h5py().Dataset) or found.shape is None or found.dtype.kind not in kinds:
        raise RefusedContentError(found.name, "is no data set of such values as were expected")
    if found.is_virtual or found.external:
        raise RefusedContentError(found.name, f"has its values in other files, which is refused; {_HINT}")
    size = math.prod(found.chunks or ()) * found.dtype.itemsize
    if size > max(_CHUNK, found.nbytes):
        raise RefusedContentError(found.name, f"has chunks of {size} bytes, more than all of its values")
    return found


def array(found: Any, shape: tuple[int, ...]) -> Array:
    """Returns the values of a data set, which must have a shape."""
    if found.shape != shape:
        raise RefusedContentError(found.name, f"has shape {found.shape}, {shape} was expected")
    return np.asarray(found)


def attribute(holder: Any, key: str) -> Any:
    """Returns an attribute, None if there is none."""
    if key not in holder.attrs:
        return None
    claimed = holder.attrs.get_id(key)
    count, stored = math.prod(claimed.shape or ()), holder.file.id.get_filesize()
    # Texts of variable length refer to bytes in the file, which may be the same ones for all of them.
    if count > _TEXTS if claimed.dtype.kind == "O" else count * claimed.dtype.itemsize > stored:
        raise RefusedContentError(f"{holder.name}@{key}", f"has {count} values, which is refused")
    return holder.attrs[key]
