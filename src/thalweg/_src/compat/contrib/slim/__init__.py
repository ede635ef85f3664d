"""tf.contrib.slim: image networks and data providers."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "name": "Name of the summary; by default that of the operation.",
    "prefix": "First part of the name.",
    "print_summary": "Whether the values are printed to stderr too.",
}
