"""tf.train.queue_runner: Queue runners: threads that fill queues."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.input.queue_runner import (
    QueueRunner as QueueRunner,
    QueueRunnerDef as QueueRunnerDef,
    add_queue_runner as add_queue_runner,
    start_queue_runners as start_queue_runners,
)

__all__ = ["QueueRunner", "QueueRunnerDef", "add_queue_runner", "start_queue_runners"]
