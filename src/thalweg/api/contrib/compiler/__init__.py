"""tf.contrib.compiler: what is compiled."""

from thalweg.api.contrib.compiler import jit

__all__ = ["jit"]
