"""Placement: chooses the device of each node."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "compared": "Whether the choice is simulated and must be clearly faster than the best single device to be taken.",
}
