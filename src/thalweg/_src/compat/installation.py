"""tf.sysconfig and tf.resource_loader: installation folders, build information, and data files beside a program."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.formats.gfile import GFile
from thalweg._src.graph.versions import CXX11_ABI_FLAG
from thalweg._src.runtime.resources.accelerators import cuda_version

_ROOT = str(Path(__file__).parents[2])


@export("sysconfig.get_include")
def get_include() -> str:
    """Returns the folder for header files, of which there are none."""
    return os.path.join(_ROOT, "include")


@export("sysconfig.get_lib")
def get_lib() -> str:
    """Returns the package's own folder."""
    return _ROOT


@export("sysconfig.get_compile_flags")
def get_compile_flags() -> list[str]:
    """Returns the compiler flags for C++ extensions."""
    return [f"-I{get_include()}", f"-D_GLIBCXX_USE_CXX11_ABI={CXX11_ABI_FLAG}"]


@export("sysconfig.get_link_flags")
def get_link_flags() -> list[str]:
    """Returns the linker flags for C++ extensions."""
    return [f"-L{get_lib()}"]


@export("sysconfig.get_build_info")
def get_build_info() -> dict[str, Any]:
    """Returns the build information of torch, which provides the kernels."""
    cuda = cuda_version()
    return {"is_cuda_build": cuda is not None, "is_rocm_build": False, "cuda_version": cuda or ""}


@export("resource_loader.load_resource")
def load_resource(path: str) -> bytes:
    """Returns the contents of a file of this package, given by its path.

    Args:
        path: Path in this package.
    """
    return bytes(GFile(os.path.join(_ROOT, path), "rb").read())


@export("resource_loader.get_data_files_path")
def get_data_files_path() -> str:
    """Returns the folder of the calling file."""
    return _folder_of_caller()


@export("resource_loader.get_path_to_datafile")
def get_path_to_datafile(path: str) -> str:
    """Returns the path of a file in the folder of the calling module.

    Args:
        path: Path relative to the calling file.
    """
    return os.path.join(_folder_of_caller(), path)


def _folder_of_caller() -> str:
    return os.path.dirname(os.path.abspath(sys._getframe(2).f_code.co_filename))


@export("resource_loader.get_root_dir_with_all_resources")
def get_root_dir_with_all_resources() -> str:
    """Returns the folder of the package."""
    return _ROOT


@export("resource_loader.readahead_file_path")
def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Returns the path unchanged: the operating system reads ahead by itself.

    Args:
        path: The path.
        readahead: Accepted for compatibility; the operating system reads ahead by itself.
    """
    return path
