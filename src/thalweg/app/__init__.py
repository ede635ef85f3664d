"""tf.app: The entry point of programs with command-line flags."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.compat.flags import run as run
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.app import flags as flags

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["flags"],
    {},
)

__all__ = ["flags", "run"]
