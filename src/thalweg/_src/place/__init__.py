"""Placement: which device runs each node."""
