"""Conditionals and loops, built from the primitives of `thalweg.ops.control_flow`."""
