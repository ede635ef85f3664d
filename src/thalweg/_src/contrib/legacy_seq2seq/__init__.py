"""Sequence to sequence models over lists of tensors, one for each step, unrolled in the graph."""
