"""Metrics of Keras: objects whose variables sum up what batches measure."""
