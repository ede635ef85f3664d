"""tf.examples.tutorials.mnist: The MNIST data set."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.examples.tutorials.mnist import input_data as input_data

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["input_data"],
    {},
)

__all__ = ["input_data"]
