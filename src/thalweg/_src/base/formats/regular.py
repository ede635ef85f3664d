"""Regular files: the files of models are opened here, so that a FIFO or a device in their place holds no thread."""

from __future__ import annotations

import errno
import os
import stat

from thalweg._src.base import errors
from thalweg._src.base.formats.text import AnyPath

LARGEST_MESSAGE = 1 << 31  # bytes that protobuf can parse
_KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


def open_regular(path: AnyPath) -> int:
    """Opens a regular file for reading and returns its descriptor; whatever else has the name is refused.

    It is looked at before, since to open a device can change it, and after, since it may have been replaced. To open a
    FIFO without O_NONBLOCK would wait for a writer.
    """
    _require(os.stat(path), path)
    file = os.open(path, _FLAGS)
    try:
        _require(os.fstat(file), path)
    except BaseException:
        os.close(file)
        raise
    return file


def require_regular(path: AnyPath) -> None:
    """Raises an error unless a path leads to a regular file that can be read, for libraries that open it themselves."""
    os.close(open_regular(path))


def read_regular(path: AnyPath, limit: int = LARGEST_MESSAGE) -> bytes:
    """Returns what a regular file had when it was opened; limit: the most bytes that it may have."""
    with open(open_regular(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            message = f"{os.fsdecode(path)} has {size} bytes, more than the {limit} that are read"
            raise errors.ResourceExhaustedError(None, None, message)
        return file.read(size)


def _require(status: os.stat_result, path: AnyPath) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if kind != stat.S_IFREG:
        message = f"{os.fsdecode(path)}: expected a regular file, received {_KINDS.get(kind, 'something else')}"
        raise errors.FailedPreconditionError(None, None, message)
