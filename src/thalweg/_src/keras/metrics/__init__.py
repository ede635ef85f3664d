"""Metrics of Keras: objects whose variables sum up what batches measure."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "**kwargs": "Further arguments of the layer.",
    "axis": "The axis of the vectors.",
    "config": "A name or a configuration.",
    "dtype": "Type of the variables and the result; by default that of `tf.keras.backend.floatx`.",
    "identifier": "A name, a configuration, a function, or the object itself.",
    "label_smoothing": "How far targets are moved towards equal probabilities, in [0, 1].",
    "metric": "A metric, or a function.",
    "name": "Name of the metric.",
    "threshold": "Predictions above it stand for 1, others for 0.",
    "thresholds": "One threshold or several, in [0, 1]; predictions above are positive. By default 0.5.",
    "top_k": "How many of the highest predictions of each example may be positive; None for all.",
}
