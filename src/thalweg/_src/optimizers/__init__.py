"""Optimizers, learning rates, gradient clipping, moving averages, mixed precision."""
