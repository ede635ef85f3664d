"""tf.sysconfig: where and how this package is installed."""

from thalweg._src.compat.installation import get_build_info, get_compile_flags, get_include, get_lib, get_link_flags
from thalweg._src.compat.versions import CXX11_ABI_FLAG, CXX_VERSION, MONOLITHIC_BUILD

__all__ = [
    "CXX11_ABI_FLAG",
    "CXX_VERSION",
    "MONOLITHIC_BUILD",
    "get_build_info",
    "get_compile_flags",
    "get_include",
    "get_lib",
    "get_link_flags",
]
