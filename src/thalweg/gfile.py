"""tf.gfile: Files and folders, under the names of TensorFlow 1."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.base.formats.gfile import (
    GFile as FastGFile,
    GFile as GFile,
    GFile as Open,
)
from thalweg._src.compat.gfile import (
    Copy as Copy,
    DeleteRecursively as DeleteRecursively,
    Exists as Exists,
    Glob as Glob,
    IsDirectory as IsDirectory,
    ListDirectory as ListDirectory,
    MakeDirs as MakeDirs,
    MkDir as MkDir,
    Remove as Remove,
    Rename as Rename,
    Stat as Stat,
    Walk as Walk,
)

__all__ = [
    "Copy", "DeleteRecursively", "Exists", "FastGFile", "GFile", "Glob", "IsDirectory", "ListDirectory", "MakeDirs",
    "MkDir", "Open", "Remove", "Rename", "Stat", "Walk",
]
