"""Metrics accumulated over batches in local variables."""
