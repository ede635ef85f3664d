"""Recurrent neural networks: cells, and the loops that run them over sequences."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "activation": "Activation of the new state; tanh by default.",
    "cell": "The cell to wrap.",
    "cell_bw": "The cell that runs backward.",
    "cell_fw": "The cell that runs forward.",
    "cells": "The cells, the one next to the input first.",
    "device": "The device.",
    "dtype": "Type of the variables; by default that of the inputs.",
    "initial_state": "State before the first step; None starts from zeros.",
    "initial_state_bw": "First state of the backward cell; None starts from zeros.",
    "initial_state_fw": "First state of the forward cell; None starts from zeros.",
    "initializer": "Initializer of the weights.",
    "kernel_initializer": "Initializer of the weights.",
    "loop_fn": "Function `(time, cell_output, cell_state, loop_state)` that gives the next input and state.",
    "name": "Name of the layer, and of its variable scope.",
    "num_units": "Number of units, the size of the state.",
    "residual_fn": "Function `(inputs, outputs)` that returns the combined outputs; by default their sum.",
    "reuse": "Whether existing variables of the scope are shared.",
    "scope": "Name or object of the variable scope; by default one of the function's name.",
    "x": "The tensor, or nest of tensors.",
}
