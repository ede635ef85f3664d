"""tf.contrib.autograph: The conversion of Python functions under the names of tf.contrib."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.graph.autograph.api import (
    Feature as Feature,
    convert_decorator as convert,
    do_not_convert as do_not_convert,
    set_loop_options as set_loop_options,
    set_verbosity as set_verbosity,
    to_code as to_code,
    to_graph as to_graph,
    trace as trace,
)

__all__ = ["Feature", "convert", "do_not_convert", "set_loop_options", "set_verbosity", "to_code", "to_graph", "trace"]
