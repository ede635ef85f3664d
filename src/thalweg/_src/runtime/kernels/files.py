"""Kernels of files and timestamps."""

from __future__ import annotations

import fnmatch
import os
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from thalweg._src.base import errors
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats.objects import object_array
from thalweg._src.base.formats.paths import is_below
from thalweg._src.base.formats.regular import read_regular
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import STEP, Call, Input, kernel, plain_kernel
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step

Array = np.ndarray[Any, Any]

_MAGIC = re.compile(rb"[*?\[\\]")


def file_error(error: OSError, path: bytes) -> errors.OpError:
    """Returns the typed error of an OSError about a file."""
    kinds: list[tuple[type[OSError], Any]] = [
        (FileNotFoundError, errors.NotFoundError),
        (PermissionError, errors.PermissionDeniedError),
        (FileExistsError, errors.FailedPreconditionError),
        (IsADirectoryError, errors.FailedPreconditionError),
        (NotADirectoryError, errors.FailedPreconditionError),
    ]
    error_class = next((typed for kind, typed in kinds if isinstance(error, kind)), errors.InvalidArgumentError)
    result: errors.OpError = error_class(None, None, f"{_shown(path)}; {error.strerror or error}")
    return result


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def local_path(path: bytes) -> bytes:
    """Returns a file's local path, without a `file://` prefix."""
    if b"\0" in path:
        raise invalid(f"a file name cannot have a zero byte: {path!r}")
    return path.removeprefix(b"file://")


def require_readable(path: str, device: Device) -> None:
    """Raises a typed error for a file that steps on a device may not read."""
    folder = device.readable_folder
    if folder and not is_below(path, folder):
        raise errors.PermissionDeniedError(
            None,
            None,
            f"{path} is not in {folder}, the only folder whose files may be read\n"
            "  hint: pass trusted=True if you know where the graph comes from",
        )


def read_whole(path: bytes, device: Device) -> bytes:
    """Returns the contents of a file, or raises a typed error."""
    local = local_path(path)
    require_readable(os.fsdecode(local), device)
    try:
        if device.readable_folder:
            return read_regular(local)
        with open(local, "rb") as file:
            return file.read()
    except OSError as error:
        raise file_error(error, path) from None


@kernel("ReadFile", devices=("CPU",))
def bind_read_file(node: Node, device: Device) -> Call:
    def read(step: Step, filename: Array) -> Array:
        _require_step(step)
        return np.array(read_whole(filename.item(), device), dtype=object)

    return Call(read, (STEP, Input(0)))


def _require_step(step: Step) -> None:
    """Refuses to run outside a step: a file's contents must not be constant-folded."""
    if step is None:
        raise errors.FailedPreconditionError(None, None, "files can only be read in a step")


@plain_kernel("WriteFile", devices=("CPU",))
def _write_file(filename: Array, contents: Array) -> None:
    path = local_path(filename.item())
    try:
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(path, "wb") as file:
            file.write(contents.item())
    except OSError as error:
        raise file_error(error, filename.item()) from None


@kernel("MatchingFiles", devices=("CPU",))
def bind_matching_files(node: Node, device: Device) -> Call:
    def match(step: Step, patterns: Array) -> Array:
        _require_step(step)
        names = sorted(name for pattern in patterns.ravel().tolist() for name in _matching(local_path(pattern)))
        for name in names:
            require_readable(os.fsdecode(name), device)
        return object_array(names, (len(names),))

    return Call(match, (STEP, Input(0)))


def _matching(pattern: bytes) -> Iterator[bytes]:
    """Yields the names that a pattern matches, directory by directory, including hidden ones."""
    folder, name = os.path.split(pattern)
    folders = [folder] if not _MAGIC.search(folder) else [f for f in _matching(folder) if os.path.isdir(f)]
    if not _MAGIC.search(name):
        yield from (path for f in folders if os.path.lexists(path := os.path.join(f, name)) and path)
        return
    matches = re.compile(_translated(name)).match
    for f in folders:
        try:
            entries = os.listdir(f or b".")
        except OSError:
            continue
        yield from (os.path.join(f, entry) for entry in entries if matches(entry))


def _translated(name: bytes) -> bytes:
    """Translates a file pattern to a regular expression; a backslash escapes the next character."""
    pieces = re.split(rb"\\(.)", name, flags=re.DOTALL)
    escaped = [re.escape(piece) if i % 2 else _plain(piece) for i, piece in enumerate(pieces)]
    return rb"(?s:" + b"".join(escaped) + rb")\Z"


def _plain(piece: bytes) -> bytes:
    return (
        fnmatch.translate(piece.decode("latin-1").replace("[^", "[!"))
        .encode("latin-1")
        .removeprefix(b"(?s:")
        .removesuffix(rb")\Z")
    )


@kernel("Timestamp")
def bind_timestamp(node: Node, device: Device) -> Callable[[], torch.Tensor]:
    return lambda: torch.tensor(time.time(), dtype=torch.float64, device=device.torch)
