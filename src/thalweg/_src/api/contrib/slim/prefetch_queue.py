"""tf.contrib.slim.prefetch_queue: a queue that threads keep full."""

from thalweg._src.library.slim_data.providers import prefetch_queue

__all__ = ["prefetch_queue"]
