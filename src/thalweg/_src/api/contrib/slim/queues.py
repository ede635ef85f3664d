"""tf.contrib.slim.queues: threads of queues for the length of a block."""

from thalweg._src.contrib.slim.data.providers import QueueRunners

__all__ = ["QueueRunners"]
