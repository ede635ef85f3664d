"""tf.keras.activations: Activation functions."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.activations import (
    deserialize as deserialize,
    elu as elu,
    exponential as exponential,
    get as get,
    hard_sigmoid as hard_sigmoid,
    linear as linear,
    relu as relu,
    selu as selu,
    serialize as serialize,
    sigmoid as sigmoid,
    softmax as softmax,
    softplus as softplus,
    softsign as softsign,
    tanh as tanh,
)

__all__ = [
    "deserialize", "elu", "exponential", "get", "hard_sigmoid", "linear", "relu", "selu", "serialize", "sigmoid",
    "softmax", "softplus", "softsign", "tanh",
]
