"""Texts of parameters of Keras's losses and metrics, and of the crossentropies of its backend."""

from __future__ import annotations

PARAMETERS: dict[str, str] = {
    "y_true": "The targets.",
    "y_pred": "The predictions.",
    "from_logits": "Whether predictions are logits, not probabilities.",
    "sample_weight": "Weights of the examples, or of the losses of each; None weighs all equally.",
}

_BOTH = {
    "axis": "The axis of the vectors.",
    "identifier": "A name, a configuration, a function, or the object itself.",
    "custom_objects": "Objects of the program's own by name, which are looked up first.",
    "label_smoothing": "How far targets are moved towards equal probabilities, in [0, 1].",
}
_CROSSENTROPIES = (
    "keras.backend.categorical_crossentropy keras.backend.sparse_categorical_crossentropy "
    "keras.backend.binary_crossentropy"
)

SCOPED: dict[str, dict[str, str]] = {
    "keras.losses.": {
        **_BOTH,
        "reduction": 'How the weighted losses are reduced: "none", "sum", "sum_over_batch_size" or "auto", the mean.',
        "name": "Name of the loss.",
        "delta": "Where the loss changes from quadratic to linear.",
        "loss": "A loss, or a loss function.",
    },
    "keras.losses.deserialize": {"name": "A name or a configuration."},
    "keras.metrics.": {
        **_BOTH,
        "name": "Name of the metric.",
        "dtype": "Type of the variables and the result; by default that of `tf.keras.backend.floatx`.",
        "**kwargs": "Further arguments of the layer.",
        "threshold": "Predictions above it stand for 1, others for 0.",
        "thresholds": "One threshold or several, in [0, 1]; predictions above are positive. By default 0.5.",
        "k": "How many of the highest predictions count.",
        "top_k": "How many of the highest predictions of each example may be positive; None for all.",
        "class_id": "Class to count alone; None counts all.",
        "summation_method": 'Heights between thresholds: "interpolation", "minoring" or "majoring".',
        "metric": "A metric, or a function.",
        "config": "A name or a configuration.",
    },
    "keras.metrics.AUC": {"thresholds": "The thresholds, in place of `num_thresholds`."},
    "keras.losses.sparse_categorical_crossentropy keras.metrics.SparseCategoricalCrossentropy": {
        "axis": "The axis of the classes.",
    },
    _CROSSENTROPIES: {
        "target": "The targets.",
        "output": "The predictions.",
        "from_logits": "Whether predictions are logits, not probabilities.",
        "axis": "The axis of the classes.",
    },
}
