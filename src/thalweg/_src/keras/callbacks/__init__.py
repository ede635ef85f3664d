"""Callbacks: what is called at points of training."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "stateful_metrics": "Names of the metrics whose values are shown as they are, not averaged over batches.",
    "verbose": "0 prints nothing, 1 a line for what is done.",
}
