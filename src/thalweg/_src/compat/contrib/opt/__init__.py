"""tf.contrib.opt: further optimizers."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "**optimizer_kwargs": "Further arguments of the solver.",
    "average_decay": "Decay of the moving averages.",
    "base_optimizer": "The optimizer class to extend.",
    "equalities": "Tensors that must be zero.",
    "exclude_from_layer_adaptation": "Regular expressions of names of variables whose step is not scaled.",
    "exclude_from_weight_decay": "Regular expressions of names of variables without weight decay.",
    "inequalities": "Tensors that must not be negative.",
    "sequential_update": "Whether averages are updated after the variables, not concurrently.",
    "sign_decay_fn": "Function from the step to a factor of the sign's agreement, or None.",
    "staleness": "Largest age of a gradient, in global steps.",
    "var_list": "The variables to optimize; by default all trainable ones.",
    "var_to_bounds": "Lower and upper bound by variable.",
    "weight_decay": "Strength of the weight decay.",
    "weight_decay_rate": "Strength of the weight decay.",
}
