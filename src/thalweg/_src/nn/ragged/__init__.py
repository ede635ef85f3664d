"""Ragged tensors: rows of different lengths, as their joined values and the positions where rows start."""
