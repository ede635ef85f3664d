"""tf.contrib.compiler.jit: Scopes that mark operations for compilation."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.switches import experimental_jit_scope as experimental_jit_scope

__all__ = ["experimental_jit_scope"]
