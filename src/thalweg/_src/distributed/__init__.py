"""The cluster: a master that partitions steps, workers that run them, and the transport between tasks."""
