"""Metrics: numbers about predictions, summed up over many batches in local variables."""
