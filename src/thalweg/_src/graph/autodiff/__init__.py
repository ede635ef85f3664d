"""Automatic differentiation: graphs that compute gradients of graphs."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "*op_types": "Names of the op types.",
    "xs": "The tensor or tensors to differentiate with respect to.",
    "ys": "The tensor or tensors to differentiate.",
}
