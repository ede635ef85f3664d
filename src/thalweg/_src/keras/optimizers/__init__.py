"""The optimizers of Keras: their hyperparameters and the number of steps are variables, and schedules set the rate."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "**kwargs": "`clipnorm` and `clipvalue` limit gradients, `decay` lowers the rate, `lr` is `learning_rate`.",
    "amsgrad": "Whether the largest mean square so far is used, not the last one.",
    "beta_1": "Decay of the moving mean of gradients.",
    "beta_2": "Decay of the moving mean of their squares; for Adamax, of the largest one.",
    "boundaries": "Steps at which the rate changes, in increasing order.",
    "config": "The configuration.",
    "custom_objects": "Classes of the program's own, by name.",
    "identifier": "Name, configuration or instance of an optimizer, also one of tf.train.",
    "initial_learning_rate": "The rate at the start.",
    "learning_rate": "The learning rate: a number, a tensor, a schedule, or a function that returns it.",
    "learning_rate_schedule": "The schedule.",
    "name": "Name of the optimizer, which its variables have as their prefix.",
    "nesterov": "Whether the momentum is Nesterov's, which looks one step ahead.",
    "power": "Exponent of the polynomial.",
    "values": "The rates between them.",
}
