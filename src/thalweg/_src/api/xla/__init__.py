"""tf.xla: what is compiled."""

from thalweg._src.api.xla import experimental

__all__ = ["experimental"]
