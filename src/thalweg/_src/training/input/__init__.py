"""Queue-based input: queues, queue runners, readers, batches, barriers, accumulators."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "cancel_op": "Operation that closes the queue and cancels what is pending.",
    "cancel_op_name": "Name of the operation that closes the queue and cancels what is pending.",
    "clean_stop_exception_types": "Exceptions that end threads without being raised.",
    "close_op_name": "Name of the operation that closes the queue.",
    "context_features": "Specification of the features of the context, by key.",
    "enqueue_many": "Whether each tensor holds several examples along its first dimension.",
    "enqueue_op_name": "Names of the operations that add to the queue.",
    "example_name": "Name of the example, for error messages.",
    "example_names": "Names of the examples, for error messages.",
    "limit": "Upper bound of the integers, excluded.",
    "min_after_dequeue": "Number of examples that stay in the queue, so that the choice is random.",
    "num_threads": "Number of threads that fill the queue.",
    "qr": "The queue runner.",
    "queue_closed_exception_types": "Exceptions that mean the queue is closed.",
    "queue_name": "Name of the queue.",
    "reader_ref": "Handle of the reader.",
    "reduction_type": '"MEAN" or "SUM": what taking the accumulated gradient returns.',
    "seed": "Seed of the shuffling.",
    "sequence_features": "Specification of the features of the sequences, by key.",
    "shapes": "Static shapes of the tensors of an example; by default inferred.",
    "string_tensor": "A vector of strings.",
    "supports_serialize": "Whether the reader can save and restore its position.",
    "tensor_list": "Tensors with equal first dimensions.",
    "tensors_list": "Lists or dictionaries of the tensors of one example, one thread for each.",
}
