"""Eager execution: operations that run when they are called, and tapes that record them for gradients."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "action": "What is done if one is found.",
    "attrs": "Names and values of the attributes, alternating.",
    "callback": "Function of the type, the inputs, the attributes, the outputs and the name of an operation.",
    "check_inf": "Whether infinities are looked for.",
    "check_nan": "Whether NaN are looked for.",
    "f": "The function to differentiate.",
    "inf_or_nan": "An ExecutionCallback or its value: ignore, print, raise or warn.",
    "inputs": "Inputs of the operation.",
    "mode": "SYNC or ASYNC; None selects SYNC.",
    "op_name": "Name of the operation, or None.",
    "op_type": "Type of the operation.",
    "outputs": "Outputs of the operation.",
    "params": "Positions or names of the arguments to differentiate by; by default all.",
}
