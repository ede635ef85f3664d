"""Texts of parameters of Keras's recurrent layers, their cells, and wrappers of layers."""

from __future__ import annotations

PARAMETERS: dict[str, str] = {}

_GATED = "keras.layers.GRUCell keras.layers.GRU keras.layers.LSTMCell keras.layers.LSTM"
_CELLS = (
    "keras.layers.AbstractRNNCell keras.layers.SimpleRNNCell keras.layers.GRUCell keras.layers.LSTMCell "
    "keras.layers.StackedRNNCells"
)
_LAYERS = (
    "keras.layers.RNN keras.layers.SimpleRNN keras.layers.GRU keras.layers.LSTM keras.layers.ConvLSTM2D "
    "keras.layers.CuDNNGRU keras.layers.CuDNNLSTM"
)
_WRAPPERS = "keras.layers.Wrapper keras.layers.TimeDistributed keras.layers.Bidirectional"

SCOPED: dict[str, dict[str, str]] = {
    "keras.layers.": {
        "recurrent_activation": "Function of the gates, or its name.",
        "recurrent_initializer": "Initializer of the kernel of the state, or its name.",
        "recurrent_regularizer": "Penalty of the kernel of the state.",
        "recurrent_constraint": "Constraint of the kernel of the state.",
        "unit_forget_bias": "Whether the bias of the forget gate starts at one, so that a memory keeps what it has.",
        "recurrent_dropout": "Fraction of the state that is dropped in training, with one mask for all steps.",
    },
    f"{_CELLS} {_LAYERS}": {
        "dropout": "Fraction of the input that is dropped in training, with one mask for all steps.",
        "units": "Size of the output and of the state.",
        "inputs": "The input: for a cell that of one step, for a layer sequences.",
        "config": "A result of `get_config`.",
        "training": "Whether dropout is applied: a Python bool or a boolean tensor.",
    },
    _CELLS: {
        "states": "The states before the step.",
        "constants": "Tensors that are the same for all steps, or None.",
        "batch_size": "Number of examples, if no inputs are given.",
        "dtype": "Type of the variables or, of a state, its type if no inputs are given.",
        "cells": "The cells, the one next to the input first.",
    },
    _LAYERS: {
        "cell": "The cell, or a list of cells, each of which takes the output of the one before.",
        "return_sequences": "Whether the outputs of all steps are returned, not the last one alone.",
        "return_state": "Whether the last states are returned after the output.",
        "go_backwards": "Whether the sequences are processed, and returned, from their ends.",
        "stateful": "Whether each batch begins with the last states of the batch before.",
        "unroll": "Whether the graph has each step of its own, not a loop; short sequences take less time so.",
        "time_major": "Whether inputs and outputs are [time, batch, features], not [batch, time, features].",
        "initial_state": "The states before the first step; None starts from zeros.",
        "constants": "Tensors that the cell gets in each step.",
        "mask": "Boolean tensor [batch, time]; steps where it is false are left out.",
        "states": "Arrays of the states; None sets them to zeros.",
    },
    _GATED: {"implementation": "1 gives each gate dropout masks of its own; with 2, one mask is for all of them."},
    "keras.layers.GRUCell keras.layers.GRU": {
        "reset_after": "Whether the reset gate is applied after the product with the state, as cuDNN does."
    },
    _WRAPPERS: {"layer": "The layer that is applied.", "config": "A result of `get_config`."},
    "keras.layers.Bidirectional": {
        "merge_mode": 'How both outputs are combined: "sum", "mul", "concat", "ave", or None to return both.',
        "weights": "The first values of the weights, those of the forward layer first.",
        "backward_layer": "The layer that runs backward; by default one with the configuration of the other.",
        "initial_state": "The states before the first step, those of the forward layer first.",
        "constants": "Tensors that the cells get in each step.",
        "mask": "Boolean tensor [batch, time]; steps where it is false are left out.",
        "states": "Arrays of the states, those of the forward layer first; None sets them to zeros.",
    },
}
