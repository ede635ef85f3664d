"""tf.keras.wrappers: Models as objects of other packages."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.keras.wrappers import scikit_learn as scikit_learn

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["scikit_learn"],
    {},
)

__all__ = ["scikit_learn"]
