"""Heads: how the outputs of a model become losses, predictions, metrics and exports."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "classes_for_class_based_metrics": "Classes, by number or name, that have metrics of their own.",
    "inverse_link_fn": "Function from logits to predictions; None takes the logits.",
    "loss_fn": "Function of labels and logits that returns the loss of each example, in place of the usual one.",
}
