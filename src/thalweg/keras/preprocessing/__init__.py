"""tf.keras.preprocessing: Preparation of data."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.keras.preprocessing import image as image
    from thalweg.keras.preprocessing import sequence as sequence
    from thalweg.keras.preprocessing import text as text

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["image", "sequence", "text"],
    {},
)

__all__ = ["image", "sequence", "text"]
