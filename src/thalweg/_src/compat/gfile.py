"""tf.gfile: files and folders under TensorFlow 1's names."""

from collections.abc import Iterator
from typing import Any

from thalweg._src.export import export
from thalweg._src.formats.gfile import (
    GFile,
    copy as _copy,
    exists as _exists,
    glob as _glob,
    isdir as _isdir,
    listdir as _listdir,
    makedirs as _makedirs,
    mkdir as _mkdir,
    remove as _remove,
    rename as _rename,
    rmtree as _rmtree,
    stat as _stat,
    walk as _walk,
)

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]

FastGFile = GFile
Open = GFile


@export("gfile.Copy")
def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copies a file."""
    _copy(oldpath, newpath, overwrite)


@export("gfile.DeleteRecursively")
def DeleteRecursively(dirname: Any) -> None:
    """Deletes a folder with all it contains."""
    _rmtree(dirname)


@export("gfile.Exists")
def Exists(filename: Any) -> bool:
    """Returns whether a file or folder exists."""
    return _exists(filename)


@export("gfile.Glob")
def Glob(filename: Any) -> list[str]:
    """Returns the paths that match a pattern."""
    return _glob(filename)


@export("gfile.IsDirectory")
def IsDirectory(dirname: Any) -> bool:
    """Returns whether a path is a folder."""
    return _isdir(dirname)


@export("gfile.ListDirectory")
def ListDirectory(dirname: Any) -> list[str]:
    """Returns the names in a folder."""
    return _listdir(dirname)


@export("gfile.MakeDirs")
def MakeDirs(dirname: Any) -> None:
    """Creates a folder and its missing parents."""
    _makedirs(dirname)


@export("gfile.MkDir")
def MkDir(dirname: Any) -> None:
    """Creates a folder in an existing one."""
    _mkdir(dirname)


@export("gfile.Remove")
def Remove(filename: Any) -> None:
    """Deletes a file."""
    _remove(filename)


@export("gfile.Rename")
def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Renames or moves a file or folder."""
    _rename(oldname, newname, overwrite)


@export("gfile.Stat")
def Stat(filename: Any) -> Any:
    """Returns size, modification time and type of a file."""
    return _stat(filename)


@export("gfile.Walk")
def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields (folder, subfolders, files) for a folder and all below it."""
    return _walk(top, in_order)
