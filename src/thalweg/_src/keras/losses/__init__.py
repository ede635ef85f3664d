"""Losses of Keras: functions of targets and predictions, and classes that weigh and reduce their values."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "axis": "The axis of the vectors.",
    "identifier": "A name, a configuration, a function, or the object itself.",
    "label_smoothing": "How far targets are moved towards equal probabilities, in [0, 1].",
    "loss": "A loss, or a loss function.",
    "name": "Name of the loss.",
    "reduction": ('How the weighted losses are reduced: "none", "sum", "sum_over_batch_size" or "auto", the mean.'),
}
