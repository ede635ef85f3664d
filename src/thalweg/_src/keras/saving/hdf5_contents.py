"""Contents of HDF5 files from outside: groups, attributes and data sets, checked before they are read.

A file can refer to others (external links, external storage, virtual data sets), and its data sets can claim any size
without having the values. Neither is followed or read here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from thalweg._src.base.errors import MissingPackageError
from thalweg._src.base.formats.regular import require_regular
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph.graph_def_checks import shown

Array = np.ndarray[Any, Any]
_CHUNK = 1 << 24  # bytes of a chunk that any data set may have
_TEXTS = 1 << 12  # of variable length in an attribute; no more fit into one as most programs write it
_NUMBERS = "biufc"
ANY_KIND = f"{_NUMBERS}OSUVmM"
_CONVERT = "pass strict=False to convert them"
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


def open_file(path: PathLike) -> Any:
    """Returns an HDF5 file, opened for reading."""
    require_regular(path)
    try:
        return h5py().File(path, "r")
    except OSError as error:
        raise type(error)(f"expected an HDF5 file, which can be opened: {error}\n  file: {os.fspath(path)}") from error
    except Exception as error:
        raise OSError(f"expected an HDF5 file, this one is damaged: {error}\n  file: {os.fspath(path)}") from error


@contextmanager
def readable(place: str) -> Iterator[None]:
    """A context in which h5py reads a place in a file: what it raises becomes an error that names the place."""
    try:
        yield
    except RefusedContentError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise RefusedContentError(place, f"cannot be read, since the file is damaged; HDF5 says: {why}") from error


def link_to(group: Any, name: str) -> Any:
    """Returns how a group refers to a member, which is not opened; None if there is none of that name."""
    with readable(f"{group.name.rstrip('/')}/{name}"):
        return group.get(name, getlink=True) if isinstance(group, h5py().Group) else None


def member(group: Any, path: str) -> Any:
    """Returns the group or the data set at a path in a group, if all of the path is in the file itself."""
    current = group
    for name in (step for step in path.split("/") if step not in ("", ".")):
        place, link = f"{current.name.rstrip('/')}/{name}", link_to(current, name)
        if link is None:
            raise RefusedContentError(place, "is missing")
        if not isinstance(link, h5py().HardLink):
            raise RefusedContentError(place, f"is a link, which may lead to another file, and is refused; {_HINT}")
        with readable(place):
            current = current[name]
    return current


def dataset(group: Any, path: str, kinds: str = _NUMBERS) -> Any:
    """Returns the data set at a path in a group, if its values are in the file; nothing is read.

    kinds: of the types that it may have, as NumPy has them
    """
    values = member(group, path)
    with readable(values.name):
        if not isinstance(values, h5py().Dataset) or values.shape is None or values.dtype.kind not in kinds:
            raise RefusedContentError(values.name, "is not a data set of the expected values")
        if values.is_virtual or values.external:
            raise RefusedContentError(values.name, f"has its values in other files, which is refused; {_HINT}")
        size = math.prod(values.chunks or ()) * values.dtype.itemsize
        if size > max(_CHUNK, values.nbytes):
            raise RefusedContentError(values.name, f"has chunks of {size} bytes, more than all of its values")
    return values


def array(values: Any, shape: tuple[int, ...]) -> Array:
    """Returns the values of a data set, which must have a shape."""
    with readable(values.name):
        if values.shape != shape:
            raise RefusedContentError(values.name, f"has shape {values.shape}, {shape} was expected")
        return np.asarray(values)


def converted(value: Array, kind: Any, place: str) -> Array:
    """Returns values in the type of the weight that they are for, in which they must not become others."""
    if value.dtype == kind:
        return value
    if value.dtype.kind == "c" and np.dtype(kind).kind != "c":
        raise RefusedContentError(place, f"has complex values, the weight has {np.dtype(kind)}; {_CONVERT}")
    with np.errstate(over="ignore", invalid="ignore"):
        cast = value.astype(kind)
        fits = cast == value if np.dtype(kind).kind in "biu" else np.isfinite(cast) == np.isfinite(value)
    if not np.all(fits):
        first = value[~fits].flat[0]
        raise RefusedContentError(place, f"has the value {first}, which {np.dtype(kind)} does not hold; {_CONVERT}")
    return cast


def attribute(holder: Any, key: str) -> Any:
    """Returns an attribute, None if there is none."""
    place = f"{holder.name}@{key}"
    with readable(place):
        if key not in holder.attrs:
            return None
        claimed = holder.attrs.get_id(key)
        count, stored = math.prod(claimed.shape or ()), holder.file.id.get_filesize()
        # Texts of variable length refer to bytes in the file, which may be the same ones for all of them.
        if count > _TEXTS if claimed.dtype.kind == "O" else count * claimed.dtype.itemsize > stored:
            raise RefusedContentError(place, f"has {count} values, which is refused")
        return holder.attrs[key]


def text(holder: Any, key: str) -> str | None:
    """Returns an attribute that is a text, None if there is none."""
    content = attribute(holder, key)
    if content is None:
        return None
    if not isinstance(content, str | bytes):
        raise RefusedContentError(f"{holder.name}@{key}", f"is not a text: {shown(repr(content))}")
    with readable(f"{holder.name}@{key}"):
        return content.decode() if isinstance(content, bytes) else content


def texts(holder: Any, key: str) -> list[str] | None:
    """Returns an attribute that is a list of texts, None if there is none."""
    content = attribute(holder, key)
    if content is None:
        return None
    if not isinstance(content, np.ndarray) or content.ndim != 1 or (content.size and content.dtype.kind not in "SUO"):
        raise RefusedContentError(f"{holder.name}@{key}", f"is not a list of texts: {shown(repr(content))}")
    with readable(f"{holder.name}@{key}"):
        return [name.decode() if isinstance(name, bytes) else str(name) for name in content]
