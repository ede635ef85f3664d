"""tf.contrib.slim.prefetch_queue: a queue that threads keep full."""

from thalweg._src.contrib.slim.data.providers import prefetch_queue

__all__ = ["prefetch_queue"]
