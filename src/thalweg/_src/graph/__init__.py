"""Graph construction: operations, tensors, scopes, and the private graph of a step."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "control_inputs": "Operations and tensors that must be computed before.",
    "default_name": "Name to use if `name` is None; it is made unique.",
    "device_name_or_function": "A device name, a function from an operation to one, or None to ignore outer blocks.",
    "flat_sequence": "The leaves, in order.",
    "nest1": "The first structure.",
    "nest2": "The second structure.",
    "reverse": "Whether it works from the last element to the first.",
    "seq": "The value to test.",
    "variable_creator": "Function `(next_creator, **kwargs)` that returns a variable.",
}
