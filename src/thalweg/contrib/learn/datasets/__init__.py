"""tf.contrib.learn.datasets: Data sets in local files."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.compat.contrib.learn.datasets import load_dataset as load_dataset
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.learn.datasets import base as base
    from thalweg.contrib.learn.datasets import mnist as mnist

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["base", "mnist"],
    {},
)

__all__ = ["base", "load_dataset", "mnist"]
