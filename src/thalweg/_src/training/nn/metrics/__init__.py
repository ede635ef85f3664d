"""Metrics accumulated over batches in local variables."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "dim": "The axis of the vectors.",
    "name": "Name of the variable scope.",
    "predictions_idx": "The predicted classes, best first.",
    "threshold": "The threshold.",
    "values": "The values of the batch.",
    "weights": "Weights of the values, which must broadcast to them; None weighs all equally.",
}
