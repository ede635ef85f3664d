"""tf.contrib.slim.queues: threads of queues for the length of a block."""

from thalweg._src.library.slim_data.providers import QueueRunners

__all__ = ["QueueRunners"]
