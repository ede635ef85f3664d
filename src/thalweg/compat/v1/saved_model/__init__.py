"""thalweg.saved_model under its name in TensorFlow 2."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.saved_model import *

__getattr__, __dir__ = _lazy_names(__name__, ("builder", "constants", "loader", "main_op", "signature_constants", "signature_def_utils", "tag_constants", "utils",), {}, "thalweg.saved_model")
