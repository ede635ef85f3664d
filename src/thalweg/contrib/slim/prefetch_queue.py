"""tf.contrib.slim.prefetch_queue: Prefetch queues."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.data.providers import prefetch_queue as prefetch_queue

__all__ = ["prefetch_queue"]
