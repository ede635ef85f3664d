"""tf.contrib.metrics: streaming metrics."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "**kwargs": "Further keyword arguments of the metric in `tf.metrics`.",
    "*args": "Further positional arguments of the metric in `tf.metrics`.",
    "*value_update_tuples": "Pairs (value, update).",
    "axis": "The axis to concatenate along.",
    "max_size": "Largest number of values to keep; None keeps all.",
    "name": "Name of the variable scope.",
    "names_to_tuples": "Pairs (value, update) by name.",
    "values": "The values of the batch.",
    "weights": "Weights of the values, which must broadcast to them; None weighs all equally.",
}
