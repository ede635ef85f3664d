"""The cache of compiled code: one file per fusion cluster, in a folder that only the user can write.

A file holds the SHA-256 of all that follows, an index of relative paths and sizes (JSON), and their contents. It is
written elsewhere and renamed, so that a file is there whole or not at all. What is loaded is a private copy of the
contents that were checked: a file that is damaged, or changes later, is never mapped into the process.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import hashlib
import json
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_LIMIT = 1 << 30  # bytes of all files; those that were not used for the longest time are deleted
_FORMAT = b"thalweg compiled code 1 "
_SUFFIX = ".compiled"
_log = logging.getLogger("thalweg")
_warned: set[Path] = set()


def folder() -> Path:
    """Returns the folder of the cache: $THALWEG_CACHE, or a folder of the user's cache.

    Code in a folder that others can write would be theirs: a temporary folder of this process takes its place.
    """
    try:
        return private_folder()
    except PermissionError as error:
        _warn_once(_named_folder(), f"{error}. Until then compiled code is kept for this process only")
    return _temporary_folder(os.getpid())


def private_folder() -> Path:
    """Returns the folder of the cache, which is created; a PermissionError says why others could change its files."""
    path = _named_folder()
    try:
        path.mkdir(0o700, parents=True, exist_ok=True)
        problem = _problem(path, path.lstat(), stat.S_ISDIR)
    except OSError as error:
        problem = f"cannot be used ({error.strerror}). Name another one in THALWEG_CACHE"
    if problem is not None:
        raise PermissionError(f"the cache folder {path} {problem}")
    return path


def _named_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(os.path.abspath(os.environ.get("THALWEG_CACHE") or os.path.join(home, "thalweg")))


def _problem(path: Path, status: os.stat_result, is_expected: Callable[[int], bool]) -> str | None:
    """Returns why a file or folder may hold the code of others, and what to do; None if only this user can write it."""
    if stat.S_ISLNK(status.st_mode):
        return "is a symbolic link, which is not followed. Remove it, or name its target in THALWEG_CACHE"
    if not is_expected(status.st_mode):
        return "is not of the cache. Remove it"
    if status.st_uid != os.geteuid():
        return f"belongs to another user (uid {status.st_uid}). Remove it, or name a folder of yours in THALWEG_CACHE"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by other users. Remove it, or run: chmod go-w {path}"
    return None


def _warn_once(where: Path, text: str) -> None:
    """Warns of the first problem in a folder: the others most likely have the same cause."""
    if where not in _warned:
        _warned.add(where)
        _log.warning(text)


@functools.cache
def _temporary_folder(process: int) -> Path:
    path = Path(tempfile.mkdtemp(prefix="thalweg-"))
    atexit.register(_remove, path, process)
    return path


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:  # not in a copy of the process that a fork has made
        shutil.rmtree(path, ignore_errors=True)


def work() -> Path:
    """Returns a folder of this process in the cache: for files in the making, and for copies of checked ones."""
    return _work(folder(), os.getpid())


@functools.cache
def _work(root: Path, process: int) -> Path:
    with _locked(root):
        for left in root.glob("work-*"):
            with contextlib.suppress(OSError), _locked(left, wait=False):  # of a process that was killed
                shutil.rmtree(left)
        path = Path(tempfile.mkdtemp(prefix="work-", dir=root))
        _lock(path)  # as long as this process lives
    atexit.register(_remove, path, process)
    return path


def _lock(path: Path, wait: bool = True) -> int:
    """Locks a folder; some network file systems cannot, and there nothing is removed that another process left."""
    import fcntl

    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(number, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if not wait:
            os.close(number)
            raise
    return number


@contextlib.contextmanager
def _locked(path: Path, wait: bool = True) -> Iterator[None]:
    number = _lock(path, wait)
    try:
        yield
    finally:
        os.close(number)


def store(digest: str, files: Mapping[str, Path]) -> None:
    """Puts files into the cache, each under a relative path."""
    contents = [path.read_bytes() for path in files.values()]
    index = json.dumps([[name, len(data)] for name, data in zip(files, contents)])
    body = b"".join([index.encode(), b"\n", *contents])
    with tempfile.NamedTemporaryFile(dir=work(), delete=False) as file:
        file.write(_head(body) + b"\n" + body)
    os.replace(file.name, _file(digest))
    _prune(_LIMIT)


def restore(digest: str) -> Path | None:
    """Returns a private copy of what the cache has, in a new folder; None if it has nothing that can be trusted."""
    path = _file(digest)
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            problem = _problem(path, os.fstat(file.fileno()), stat.S_ISREG)
            contents = {} if problem else _unpack(file.read())
            os.utime(file.fileno())  # used now
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        linked = isinstance(error, OSError) and error.errno == errno.ELOOP
        problem = _problem(path, path.lstat(), stat.S_ISREG) if linked else f"is damaged: {error}"
    if problem:
        _warn_once(path.parent, f"the compiled code {path} {problem}. It is not used but compiled again")
        return None
    # The contents were read through one descriptor and checked in memory: writing them anew leaves no time in which
    # another process could exchange the file between the check and its use.
    copy = Path(tempfile.mkdtemp(dir=work()))
    for name, data in contents.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(data)
    return copy


def _file(digest: str) -> Path:
    return folder() / (digest + _SUFFIX)


def _head(body: bytes) -> bytes:
    return _FORMAT + hashlib.sha256(body).hexdigest().encode()


def _unpack(data: bytes) -> dict[str, bytes]:
    """Returns the contents of a file of the cache by their paths."""
    head, _, body = data.partition(b"\n")
    if head != _head(body):
        raise ValueError("its SHA-256 is not the one that was stored")
    index, _, contents = body.partition(b"\n")
    files, start = {}, 0
    for name, size in json.loads(index):
        if os.path.isabs(name) or ".." in Path(name).parts:
            raise ValueError(f"its index leads out of its folder: {name!r}")
        files[name] = contents[start : start + size]
        start += size
    if start != len(contents):
        raise ValueError(f"it has {len(contents)} bytes, and its index {start}")
    return files


def _prune(limit: int) -> None:
    """Deletes files that were not used for the longest time, so that the others have `limit` bytes at most."""
    used = []
    for path in folder().glob("*" + _SUFFIX):
        with contextlib.suppress(FileNotFoundError):  # another process prunes too
            status = path.lstat()
            used.append((status.st_mtime_ns, status.st_size, path))
    total = 0
    for number, (_, size, path) in enumerate(sorted(used, reverse=True)):
        total += size
        if number and total > limit:
            path.unlink(missing_ok=True)
