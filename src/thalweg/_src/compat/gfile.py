"""tf.gfile: files and folders under TensorFlow 1's names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.formats import gfile
from thalweg._src.base.formats.text import PathLike


@export("gfile.Copy")
def Copy(oldpath: PathLike, newpath: PathLike, overwrite: bool = False) -> None:
    """Copies a file."""
    gfile.copy(oldpath, newpath, overwrite)


@export("gfile.DeleteRecursively")
def DeleteRecursively(dirname: PathLike) -> None:
    """Deletes a folder with all it contains."""
    gfile.rmtree(dirname)


@export("gfile.Exists")
def Exists(filename: PathLike) -> bool:
    """Returns whether a file or folder exists.

    Args:
        filename: Path of the file or folder.
    """
    return gfile.exists(filename)


@export("gfile.Glob")
def Glob(filename: PathLike | Iterable[PathLike]) -> list[str]:
    """Returns the paths that match a pattern.

    Args:
        filename: Pattern, or a list of patterns.
    """
    return gfile.glob(filename)


@export("gfile.IsDirectory")
def IsDirectory(dirname: PathLike) -> bool:
    """Returns whether a path is a folder."""
    return gfile.isdir(dirname)


@export("gfile.ListDirectory")
def ListDirectory(dirname: PathLike) -> list[str]:
    """Returns the names in a folder."""
    return gfile.listdir(dirname)


@export("gfile.MakeDirs")
def MakeDirs(dirname: PathLike) -> None:
    """Creates a folder and its missing parents."""
    gfile.makedirs(dirname)


@export("gfile.MkDir")
def MkDir(dirname: PathLike) -> None:
    """Creates a folder in an existing one."""
    gfile.mkdir(dirname)


@export("gfile.Remove")
def Remove(filename: PathLike) -> None:
    """Deletes a file."""
    gfile.remove(filename)


@export("gfile.Rename")
def Rename(oldname: PathLike, newname: PathLike, overwrite: bool = False) -> None:
    """Renames or moves a file or folder."""
    gfile.rename(oldname, newname, overwrite)


@export("gfile.Stat")
def Stat(filename: PathLike) -> Any:
    """Returns size, modification time and type of a file.

    Args:
        filename: Path of the file or folder.
    """
    return gfile.stat(filename)


@export("gfile.Walk")
def Walk(top: PathLike, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields (folder, subfolders, files) for a folder and all below it."""
    return gfile.walk(top, in_order)
