"""Recurrent neural networks: cells, and the loops that run them over sequences."""
