"""tf.contrib.compiler.jit: scopes that ask for compiled operations."""

from thalweg._src.compat.jit_scope import experimental_jit_scope

__all__ = ["experimental_jit_scope"]
