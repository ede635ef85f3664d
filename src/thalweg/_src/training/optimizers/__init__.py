"""Optimizers, learning-rate schedules, gradient clipping, moving averages, mixed precision."""
