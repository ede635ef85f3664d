"""Placement: chooses the device of each node."""
