"""`tensorflow.python.lib.io.file_io`: files and folders, under the names beneath `tf.gfile`."""

from __future__ import annotations

import os
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.formats.durable import temporary_name
from thalweg._src.base.formats.gfile import (
    GFile as FileIO,
    copy as copy,
    exists as file_exists,
    glob as get_matching_files,
    isdir as is_directory,
    listdir as list_directory,
    makedirs as recursive_create_dir,
    mkdir as create_dir,
    remove as delete_file,
    rename as rename,
    rmtree as delete_recursively,
    stat as stat,
)
from thalweg._src.base.formats.text import PathLike, as_text

file_exists_v2, is_directory_v2, list_directory_v2 = file_exists, is_directory, list_directory
recursive_create_dir_v2, create_dir_v2, delete_file_v2 = recursive_create_dir, create_dir, delete_file
get_matching_files_v2, delete_recursively_v2, copy_v2, rename_v2 = get_matching_files, delete_recursively, copy, rename


def read_file_to_string(filename: PathLike, binary_mode: bool = False) -> Any:
    """Returns the contents of a file, as text or as bytes."""
    return FileIO(filename, "rb" if binary_mode else "r").read()


def write_string_to_file(filename: PathLike, file_content: str | bytes) -> None:
    """Writes text or bytes to a file."""
    with FileIO(filename, "w") as file:
        file.write(file_content)


def atomic_write_string_to_file(filename: PathLike, contents: str | bytes, overwrite: bool = True) -> None:
    """Writes a file beside its final place and renames it, so that readers never see a part of it."""
    if not overwrite and file_exists(filename):
        raise errors.AlreadyExistsError(None, None, f"{filename!s} exists")
    temporary = temporary_name(as_text(os.fspath(filename)))
    write_string_to_file(temporary, contents)
    rename(temporary, filename, overwrite=True)
