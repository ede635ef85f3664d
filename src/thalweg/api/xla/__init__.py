"""tf.xla: what is compiled."""

from thalweg.api.xla import experimental

__all__ = ["experimental"]
