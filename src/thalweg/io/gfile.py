"""tf.io.gfile: Files and folders."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.base.formats.gfile import (
    GFile as GFile,
    copy as copy,
    exists as exists,
    get_registered_schemes as get_registered_schemes,
    glob as glob,
    isdir as isdir,
    join as join,
    listdir as listdir,
    makedirs as makedirs,
    mkdir as mkdir,
    remove as remove,
    rename as rename,
    rmtree as rmtree,
    stat as stat,
    walk as walk,
)

__all__ = [
    "GFile", "copy", "exists", "get_registered_schemes", "glob", "isdir", "join", "listdir", "makedirs", "mkdir",
    "remove", "rename", "rmtree", "stat", "walk",
]
