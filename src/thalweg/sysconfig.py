"""tf.sysconfig: Paths and compiler flags of the installation."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.installation import (
    get_build_info as get_build_info,
    get_compile_flags as get_compile_flags,
    get_include as get_include,
    get_lib as get_lib,
    get_link_flags as get_link_flags,
)
from thalweg._src.graph.versions import (
    CXX11_ABI_FLAG as CXX11_ABI_FLAG,
    CXX_VERSION as CXX_VERSION,
    MONOLITHIC_BUILD as MONOLITHIC_BUILD,
)

__all__ = [
    "CXX11_ABI_FLAG", "CXX_VERSION", "MONOLITHIC_BUILD", "get_build_info", "get_compile_flags", "get_include",
    "get_lib", "get_link_flags",
]
