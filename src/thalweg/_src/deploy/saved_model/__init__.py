"""SavedModels: writing, loading, signatures."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "**saver_kwargs": "Further arguments of `tf.train.import_meta_graph`.",
    "inputs": "Inputs by name.",
    "restore_op_name": "Name of the operation that restores variables.",
    "sess": "The session to load into.",
    "tensor": "The tensor, dense or sparse.",
}
