"""Texts of parameters of the optimizers of Keras and of their schedules."""

from __future__ import annotations

PARAMETERS: dict[str, str] = {
    "initial_learning_rate": "The rate at the start.",
    "nesterov": "Whether the momentum is Nesterov's, which looks one step ahead.",
    "beta_1": "Decay of the moving mean of gradients.",
    "beta_2": "Decay of the moving mean of their squares; for Adamax, of the largest one.",
    "amsgrad": "Whether the largest mean square so far is used, not the last one.",
    "slot_name": "Name of the slot.",
    "learning_rate_schedule": "The schedule.",
}
SCOPED: dict[str, dict[str, str]] = {
    "keras.optimizers.": {
        "learning_rate": "The learning rate: a number, a tensor, a schedule, or a function that returns it.",
        "centered": "Whether the mean gradient is subtracted before squaring.",
        "name": "Name of the optimizer, which its variables have as their prefix.",
        "**kwargs": "`clipnorm` and `clipvalue` limit gradients, `decay` lowers the rate, `lr` is `learning_rate`.",
        "loss": "The loss in a graph, or a function that returns it.",
        "var_list": "The variables to update, or a function that returns them.",
        "grad_loss": "Gradient of the loss; by default 1.",
        "params": "The variables to differentiate by.",
        "var": "The variable that the slot belongs to.",
        "initializer": "Name, function or value that gives the initial value.",
        "trainable": "Whether the variable is trainable.",
        "weights": "Values of the weights, in their order.",
        "config": "The configuration.",
        "custom_objects": "Classes of the program's own, by name.",
        "identifier": "Name, configuration or instance of an optimizer, also one of tf.train.",
        "optimizer": "The optimizer.",
    },
    "keras.optimizers.schedules. keras.experimental.CosineDecay keras.experimental.CosineDecayRestarts "
    "keras.experimental.LinearCosineDecay keras.experimental.NoisyLinearCosineDecay": {
        "step": "Number of steps so far.",
        "name": "Name of the operations.",
        "boundaries": "Steps at which the rate changes, in increasing order.",
        "values": "The rates between them.",
        "power": "Exponent of the polynomial.",
        "alpha": "Fraction of the first rate at the end.",
        "beta": "Fraction of the first rate that is added.",
        "config": "The configuration.",
    },
}
