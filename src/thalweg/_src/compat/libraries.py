"""Libraries of ops in C++, which cannot be loaded: an op is written in Python and torch."""

from __future__ import annotations

import os
from typing import NoReturn

from thalweg._src.base import errors
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike, as_text


@export("load_op_library")
def load_op_library(library_filename: PathLike) -> NoReturn:
    """Raises NotFoundError if there is no such file, else UnimplementedError: ops are registered in Python here.

    Args:
        library_filename: Path of the library.
    """
    _refuse(library_filename, "its ops")


@export("load_library")
def load_library(library_location: PathLike) -> NoReturn:
    """Raises NotFoundError if there is no such file or folder, else UnimplementedError.

    Args:
        library_location: Path of a library, or of a folder of libraries.
    """
    _refuse(library_location, "its ops and kernels")


@export("load_file_system_library")
def load_file_system_library(library_filename: PathLike) -> NoReturn:
    """Raises NotFoundError if there is no such file, else UnimplementedError: files are those of the machine.

    Args:
        library_filename: Path of the library.
    """
    _refuse(library_filename, "its file system")


def _refuse(location: PathLike, what: str) -> NoReturn:
    path = as_text(os.fspath(location))
    if not os.path.exists(path):
        raise errors.NotFoundError(None, None, f"{path}: cannot open shared object file: No such file or directory")
    raise errors.UnimplementedError(
        None,
        None,
        f"{path} is compiled for TensorFlow's C++ library, so {what} cannot be loaded. Register each op in Python "
        "with thalweg.op, thalweg.kernel and tf.RegisterGradient: docs/extending.md shows how.",
    )
