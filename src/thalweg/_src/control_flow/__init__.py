"""Conditionals and loops, built from the primitives in `thalweg._src.ops.control_flow`."""
