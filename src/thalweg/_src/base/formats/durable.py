"""Atomic, durable file writes: to a temporary file, synced and renamed, so that a crash leaves a complete file."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.errors import invalid

_MARK = ".tempstate"
_DIRECT = getattr(os, "O_DIRECT", 0)
_MOST = 1 << 30  # limit of one write; kernels accept no more than 2 GB
ERROR_CLASSES: dict[int, type[errors._CodedError]] = {
    errno.ENOENT: errors.NotFoundError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.EEXIST: errors.FailedPreconditionError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EFBIG: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError,
    errno.ENAMETOOLONG: errors.InvalidArgumentError,
}


def typed_error(error: Exception, path: str) -> errors.OpError:
    """Returns the typed error of an OSError about a file."""
    if not isinstance(error, OSError):  # a path with a zero byte
        return invalid(f"{path!r}: {error}")
    error_class = ERROR_CLASSES.get(error.errno or 0, errors.UnknownError)
    name = path if error.filename is None else os.fsdecode(error.filename)
    return error_class(None, None, f"{name}: {error.strerror or error}")


@contextlib.contextmanager
def typed_errors(path: str) -> Iterator[None]:
    """Converts OSErrors about files to typed errors."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        raise typed_error(error, path) from None


def temporary_name(path: str) -> str:
    """Returns a unique name next to the path."""
    return f"{path}{_MARK}{secrets.token_hex(8)}"


def is_temporary(path: str) -> bool:
    """Returns whether a name is that of a file that is still being written."""
    return _MARK in os.path.basename(path)


def create(path: str) -> int:
    """Creates a file for writing, which must not exist."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)


def write_all(file: int, data: Any) -> None:
    """Writes a whole buffer."""
    view = memoryview(data).cast("B")
    while view:
        try:
            view = view[os.write(file, view[:_MOST]) :]
        except OSError as error:
            # Some file systems reject direct I/O only now, and all do when the disk is nearly full.
            if error.errno != errno.EINVAL or not disable_direct_io(file):
                raise


def enable_direct_io(file: int) -> None:
    """Enables direct I/O for aligned blocks, where the file system supports it."""
    if _DIRECT:
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | _DIRECT)


def disable_direct_io(file: int) -> bool:
    """Disables direct I/O, so that writes of any length are possible; returns whether it was enabled."""
    if not _DIRECT:
        return False
    import fcntl

    flags = fcntl.fcntl(file, fcntl.F_GETFL)
    fcntl.fcntl(file, fcntl.F_SETFL, flags & ~_DIRECT)
    return bool(flags & _DIRECT)


def sync_folder(path: str) -> None:
    """Makes the directory entry of a file durable, where the system supports it."""
    try:
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):  # some file systems do not support it
            os.fsync(folder)
    finally:
        os.close(folder)


def remove_quietly(path: str) -> None:
    """Deletes a file if it exists."""
    with contextlib.suppress(OSError):
        os.unlink(path)


@contextlib.contextmanager
def removed_on_failure(*paths: str) -> Iterator[None]:
    """Deletes files if the block fails, so that a full disk is not filled further."""
    try:
        yield
    except BaseException:
        for path in paths:
            remove_quietly(path)
        raise


def write_file(path: str, data: bytes) -> None:
    """Replaces a file atomically and durably."""
    temporary = temporary_name(path)
    with removed_on_failure(temporary):
        file = create(temporary)
        try:
            write_all(file, data)
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(temporary, path)
    sync_folder(path)
