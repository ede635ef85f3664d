"""tf.contrib.learn: The parts of tf.learn that need no Estimator."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.contrib.learn.mode_keys import (
    ModeKeys as ModeKeys,
)
from thalweg._src.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.learn import datasets as datasets
    from thalweg.contrib.learn import preprocessing as preprocessing

__getattr__, __dir__ = _lazy_names(
    __name__,
    ("datasets", "preprocessing",),
    {},
)

__all__ = [
    "ModeKeys",
    "datasets",
    "preprocessing",
]
