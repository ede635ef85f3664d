"""Conditionals and loops, built from the primitives in `thalweg._src.graph.ops.control_flow`."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "back_prop": "Whether gradients through the loop are supported.",
    "elems": "A tensor, or a nest of tensors, whose first dimension is iterated over.",
}
