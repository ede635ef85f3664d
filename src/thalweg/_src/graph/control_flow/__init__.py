"""Conditionals and loops, built from the primitives in `thalweg._src.graph.ops.control_flow`."""
