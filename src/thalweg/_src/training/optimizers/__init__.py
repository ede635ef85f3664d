"""Optimizers, learning-rate schedules, gradient clipping, moving averages, mixed precision."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "**kwargs": "Further keyword arguments of the getter.",
    "*args": "Further positional arguments of the getter.",
    "accum_name": "Suffix of the variables with the squared gradients.",
    "beta": "What is added to the denominator of the rate.",
    "clip_norm": "The largest allowed norm.",
    "decay": "Decay of the running mean of squares.",
    "dtype": "The requested type of the variable.",
    "getter": "The real getter.",
    "increment_period": "Number of finite steps in a row after which the scale grows.",
    "initial_gradient_squared_accumulator_value": "First value of the sums of squared gradients.",
    "initial_loss_scale": "First loss scale.",
    "initializer": "Initializer of the variables.",
    "linear_name": "Suffix of the variables with the linear terms.",
    "loss_scale": 'A `LossScale`, a number, or "dynamic".',
    "loss_scale_value": "The loss scale.",
    "multiplier": "Factor by which the scale grows and shrinks.",
    "shape": "Shape of the variable.",
    "t_list": "The tensors; None entries are allowed.",
    "use_norm": "The common norm, if it is known already.",
    "use_own_namescope_for_non_slot_vars": "Whether the optimizer's own variables are named under its name.",
}
