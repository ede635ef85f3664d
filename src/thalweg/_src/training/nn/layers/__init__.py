"""Layers with variables, as classes and as functions."""
