"""tf.autograph: Python functions whose control flow on tensors becomes control flow of the graph."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.graph.autograph.api import (
    do_not_convert as do_not_convert,
    set_loop_options as set_loop_options,
    set_verbosity as set_verbosity,
    to_code as to_code,
    to_graph as to_graph,
    trace as trace,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.autograph import experimental as experimental

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["experimental"],
    {},
)

__all__ = ["do_not_convert", "experimental", "set_loop_options", "set_verbosity", "to_code", "to_graph", "trace"]
