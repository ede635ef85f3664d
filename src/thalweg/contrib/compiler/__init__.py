"""tf.contrib.compiler: Compilation of operations."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.compiler import jit as jit

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["jit"],
    {},
)

__all__ = ["jit"]
