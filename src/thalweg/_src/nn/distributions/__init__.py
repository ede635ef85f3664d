"""Probability distributions: samples, probabilities and statistics as graphs."""
