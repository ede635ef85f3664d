"""Queue-based input: queues, queue runners, readers, batches, barriers, accumulators."""
