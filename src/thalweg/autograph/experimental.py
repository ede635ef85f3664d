"""tf.autograph.experimental: Options of the conversion of Python functions."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.graph.autograph.api import (
    Feature as Feature,
    do_not_convert as do_not_convert,
    set_loop_options as set_loop_options,
)

__all__ = ["Feature", "do_not_convert", "set_loop_options"]
