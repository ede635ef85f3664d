"""Variables: creation, sharing by scope, assignment, partitioning, initializers."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "bytes_per_string_element": "Assumed size of a string in bytes.",
    "name_or_scope": "Name of the scope to open, or a scope to enter again.",
    "store": "A store to continue; by default an empty one.",
    "updates": "The values to write, one slice for each index.",
}
