"""Observability: event files for TensorBoard, and timelines of traced steps."""
