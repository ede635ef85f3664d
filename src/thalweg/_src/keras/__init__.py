"""Keras: models made of layers, trained by `fit`, for graphs and sessions, eager execution and functions alike."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "axis": "The dimension or dimensions that a norm is taken over.",
    "custom_objects": "Objects of the program's own by name, which are looked up first.",
    "from_logits": "Whether predictions are logits, not probabilities.",
    "identifier": "A name, a configuration, or the object itself.",
    "l": "Factor of the sum.",
    "l1": "Factor of the sum of absolute values.",
    "l2": "Factor of the sum of squares.",
    "min_value": "Smallest norm.",
    "module_objects": "The objects of one kind by name, which are looked up last.",
    "printable_module_name": "What an error calls the kind of object.",
    "y_pred": "The predictions.",
    "y_true": "The targets.",
}
