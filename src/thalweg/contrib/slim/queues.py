"""tf.contrib.slim.queues: A context manager that runs the queue runners of a graph."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.data.providers import QueueRunners as QueueRunners

__all__ = ["QueueRunners"]
