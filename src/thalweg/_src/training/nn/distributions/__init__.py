"""Probability distributions: sampling, densities and statistics."""
