"""Layers, models, and how they are trained."""
