"""Conditionals and loops, built from the primitives of `thalweg._src.ops.control_flow`."""
