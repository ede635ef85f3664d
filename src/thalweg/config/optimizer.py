"""tf.config.optimizer: Settings of graph optimization."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.runtime.session.config_functions import (
    get_experimental_options as get_experimental_options,
    get_jit as get_jit,
    set_experimental_options as set_experimental_options,
    set_jit as set_jit,
)

__all__ = ["get_experimental_options", "get_jit", "set_experimental_options", "set_jit"]
