"""File system functions of tf.io.gfile, with TensorFlow's errors."""

from __future__ import annotations

import contextlib
import errno
import glob as _glob
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from thalweg._src.base import errors
from thalweg._src.base.errors import invalid
from thalweg._src.base.export import export
from thalweg._src.base.formats.durable import ERROR_CLASSES
from thalweg._src.base.formats.text import AnyPath, PathLike
from thalweg._src.base.read_only import ReadOnly

_CLASSES = ERROR_CLASSES | {
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EINVAL: errors.InvalidArgumentError,
    errno.EXDEV: errors.UnimplementedError,
}
_MODES = {"r": "rb", "w": "wb", "a": "ab", "r+": "r+b", "w+": "w+b", "a+": "a+b"}


def _path(path: AnyPath) -> str:
    return os.fsdecode(path).removeprefix("file://")


@contextlib.contextmanager
def _typed_errors(path: AnyPath | None = None) -> Iterator[None]:
    """Converts OSErrors to TensorFlow's error classes."""
    try:
        yield
    except OSError as error:
        error_class = _CLASSES.get(error.errno or 0, errors.UnknownError)
        name = error.filename if error.filename is not None else path
        raise error_class(
            None, None, f"{'' if name is None else os.fsdecode(name)}; {error.strerror or error}"
        ) from None
    except ValueError as error:  # a path with a zero byte
        raise invalid(f"{path!r}; {error}") from None


@export("gfile.FastGFile", "gfile.GFile", "gfile.Open", "io.gfile.GFile")
class GFile:
    """A file, opened at first use; text is UTF-8 unless the mode contains "b".

    Args:
        name: Path of the file.
        mode: How to open it, as in Python's `open`; "r" by default.
    """

    name = ReadOnly[Any]("The path of the file.")
    mode = ReadOnly[str]("The mode in which the file is opened.")

    def __init__(self, name: PathLike, mode: str = "r") -> None:
        plain = mode.replace("b", "")
        if plain not in _MODES:
            raise invalid(f"mode {mode!r} is not one of {', '.join(_MODES)}, with or without b")
        self._name = name
        self._mode = mode
        self._plain = plain
        self._file: IO[bytes] | None = None

    def _open(self) -> IO[bytes]:
        if self._file is None:
            with _typed_errors(self._name):
                self._file = open(_path(self._name), _MODES[self._plain])  # noqa: SIM115
        return self._file

    def _reading(self) -> IO[bytes]:
        if self._plain in ("w", "a"):
            raise errors.PermissionDeniedError(None, None, f"{self._name} is not open for reading")
        return self._open()

    def _as_mode(self, data: bytes) -> Any:
        return data if "b" in self._mode else data.decode("utf-8")

    def read(self, n: int = -1) -> Any:
        """Returns n bytes, or all remaining ones; as str if the file is in text mode."""
        file = self._reading()
        with _typed_errors(self._name):
            data = file.read(n)
        return self._as_mode(data)

    def readline(self) -> Any:
        """Returns the next line with its line ending; empty at the end of the file."""
        file = self._reading()
        with _typed_errors(self._name):
            data = file.readline()
        return self._as_mode(data)

    def readlines(self) -> list[Any]:
        """Returns the remaining lines."""
        return list(self)

    def write(self, file_content: str | bytes) -> None:
        """Writes text or bytes at the current position."""
        if self._plain == "r":
            raise errors.PermissionDeniedError(None, None, f"{self._name} is not open for writing")
        data = file_content.encode("utf-8") if isinstance(file_content, str) else bytes(file_content)
        file = self._open()
        with _typed_errors(self._name):
            file.write(data)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Moves to an offset from the start (0), the current position (1) or the end (2)."""
        offset = position if offset is None else offset
        if offset is None:
            raise TypeError("seek(): offset argument required")
        if whence not in (0, 1, 2):
            raise invalid(f"Invalid whence argument: {whence}. Valid are 0, 1, or 2.")
        with _typed_errors(self._name):
            self._open().seek(offset, whence)

    def tell(self) -> int:
        """Returns the current position in bytes."""
        with _typed_errors(self._name):
            return self._open().tell()

    def size(self) -> int:
        """Returns the size on disk in bytes."""
        return int(stat(self._name).length)

    def flush(self) -> None:
        """Flushes buffered writes to the file."""
        if self._file is not None:
            with _typed_errors(self._name):
                self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            file, self._file = self._file, None
            with _typed_errors(self._name):
                file.close()

    def seekable(self) -> bool:
        """Returns True: files can be read at any position."""
        return True

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """Returns the next line; raises StopIteration at the end."""
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """Metadata of a file: size in bytes, modification time, and whether it is a directory."""

    length: int
    mtime_nsec: int
    is_directory: bool


@export("io.gfile.exists")
def exists(path: PathLike) -> bool:
    """Returns whether a file or folder exists."""
    return os.path.exists(_path(path))


@export("io.gfile.isdir")
def isdir(path: PathLike) -> bool:
    """Returns whether a path is a folder."""
    return os.path.isdir(_path(path))


@export("io.gfile.stat")
def stat(path: PathLike) -> FileStatistics:
    """Returns size, modification time and type of a file."""
    with _typed_errors(path):
        status = os.stat(_path(path))
    return FileStatistics(status.st_size, status.st_mtime_ns, os.path.isdir(_path(path)))


@export("io.gfile.listdir")
def listdir(path: PathLike) -> list[str]:
    """Returns the entries of a directory, sorted."""
    if not isdir(path):
        raise errors.NotFoundError(None, None, f"Could not find directory {os.fsdecode(path)}")
    with _typed_errors(path):
        return sorted(os.listdir(_path(path)))


@export("io.gfile.glob")
def glob(pattern: PathLike | Iterable[PathLike]) -> list[str]:
    """Returns the paths that match a pattern, or any of several, sorted; `*` matches hidden names too."""
    patterns: Iterable[Any] = [pattern] if isinstance(pattern, str | bytes | os.PathLike) else pattern
    return [path for one in patterns for path in sorted(_glob.glob(_path(one), include_hidden=True))]


@export("io.gfile.mkdir")
def mkdir(path: PathLike) -> None:
    """Creates a directory whose parent exists."""
    with _typed_errors(path):
        os.mkdir(_path(path))


@export("io.gfile.makedirs")
def makedirs(path: PathLike) -> None:
    """Creates a directory and its parents; an existing one is not an error."""
    try:
        with _typed_errors(path):
            os.makedirs(_path(path), exist_ok=True)
    except errors.AlreadyExistsError:
        raise errors.FailedPreconditionError(None, None, f"{os.fsdecode(path)} is not a directory") from None


@export("io.gfile.remove")
def remove(path: PathLike) -> None:
    """Deletes a file."""
    with _typed_errors(path):
        os.remove(_path(path))


@export("io.gfile.rmtree")
def rmtree(path: PathLike) -> None:
    """Deletes a directory with its contents, or a file."""
    with _typed_errors(path):
        if isdir(path) and not os.path.islink(_path(path)):
            shutil.rmtree(_path(path))
        else:
            os.remove(_path(path))


def _require_free(path: PathLike, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise errors.AlreadyExistsError(None, None, f"{os.fsdecode(path)}; file already exists")


@export("io.gfile.copy")
def copy(src: PathLike, dst: PathLike, overwrite: bool = False) -> None:
    """Copies the contents of a file."""
    _require_free(dst, overwrite)
    with _typed_errors(src):
        shutil.copyfile(_path(src), _path(dst))


@export("io.gfile.rename")
def rename(src: PathLike, dst: PathLike, overwrite: bool = False) -> None:
    """Moves a file or directory within a file system."""
    _require_free(dst, overwrite)
    with _typed_errors(src):
        os.replace(_path(src), _path(dst))


@export("io.gfile.walk")
def walk(
    top: PathLike, topdown: bool = True, onerror: Callable[[Exception], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields (directory, subdirectories, files) for a directory tree; nothing if it does not exist."""
    top = _path(top)
    try:
        names = listdir(top)
    except errors.OpError as error:
        if onerror is not None:
            onerror(error)
        return
    folders = [name for name in names if isdir(os.path.join(top, name))]
    here = (top, folders, [name for name in names if name not in set(folders)])
    if topdown:
        yield here
    for folder in folders:
        yield from walk(os.path.join(top, folder), topdown, onerror)
    if not topdown:
        yield here


@export("io.gfile.join")
def join(path: PathLike, *paths: PathLike) -> Any:
    """Joins parts of a path.

    Args:
        path: First part of the path.
        *paths: Further parts of the path.
    """
    return os.path.join(path, *paths)


@export("io.gfile.get_registered_schemes")
def get_registered_schemes() -> list[str]:
    """Returns the supported path schemes: plain paths and file://."""
    return ["", "file"]
