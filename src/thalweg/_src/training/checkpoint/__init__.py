"""Checkpoints: savers, object-based checkpoints, MetaGraphs, warm starts."""
