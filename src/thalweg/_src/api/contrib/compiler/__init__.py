"""tf.contrib.compiler: what is compiled."""

from thalweg._src.api.contrib.compiler import jit

__all__ = ["jit"]
