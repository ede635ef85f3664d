"""AutoGraph: Python functions whose control flow on tensors becomes control flow of the graph."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "*args": "The values to print.",
    "alsologtostdout": "Whether the log is written to stdout instead of stderr.",
    "arg_types": "Ignored: conversion does not depend on arguments.",
    "arg_values": "Ignored: conversion does not depend on arguments.",
    "entity": "A function, a method, or an object with a method `__call__`.",
    "experimental_optional_features": "Ignored: all features are active.",
    "func": "The function to mark; None to use it as a decorator with parentheses.",
    "indentation": "Text of one level of indentation.",
    "level": "How much is logged: 0 nothing, 1 the converted functions, 10 their code too.",
    "optional_features": "Ignored: all features are active.",
    "recursive": "Whether functions that the function calls are converted too.",
    "shape_invariants": "Pairs (variable, shape), for variables whose shape changes between iterations.",
    "user_requested": "Ignored.",
}
