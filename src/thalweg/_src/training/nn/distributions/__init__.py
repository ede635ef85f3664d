"""Probability distributions: sampling, densities and statistics."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "dist_cls_a": "Class of the first distribution.",
    "dist_cls_b": "Class of the second distribution.",
    "dtype": "Type of the samples.",
    "graph_parents": "Tensors that the distribution depends on.",
    "logits": "Log odds, or unscaled log probabilities; give these or `probs`.",
    "name": "Name of the distribution.",
    "rate": "The rate, the inverse scale.",
    "rep_type": "Name of the type.",
    "reparameterization_type": "Whether gradients flow through samples: a `ReparameterizationType`.",
    "scale": "Scale: the standard deviation, or the width.",
}
