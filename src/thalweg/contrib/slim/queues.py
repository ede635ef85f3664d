"""tf.contrib.slim.queues: Threads of queues for the length of a block."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.contrib.slim.data.providers import (
    QueueRunners as QueueRunners,
)

__all__ = [
    "QueueRunners",
]
