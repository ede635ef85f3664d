"""Models as objects of other packages."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "**sk_params": "Arguments of that function, and of `fit`, `predict` and `evaluate`.",
    "build_fn": "Function that returns a compiled model.",
}
