"""tf.xla.experimental: scopes that ask for compiled operations."""

from thalweg._src.compat.jit_scope import experimental_jit_scope as jit_scope

__all__ = ["jit_scope"]
