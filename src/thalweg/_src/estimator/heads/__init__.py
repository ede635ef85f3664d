"""Heads: how the outputs of a model become losses, predictions, metrics and exports."""
