"""Preparation of data for models: sequences of numbers, and texts."""
