"""tf.nn.rnn_cell: Recurrent cells and cell wrappers."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.nn.rnn.cells import (
    BasicLSTMCell as BasicLSTMCell,
    BasicRNNCell as BasicRNNCell,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    LSTMStateTuple as LSTMStateTuple,
    MultiRNNCell as MultiRNNCell,
    RNNCell as RNNCell,
)
from thalweg._src.training.nn.rnn.wrappers import (
    DeviceWrapper as DeviceWrapper,
    DropoutWrapper as DropoutWrapper,
    ResidualWrapper as ResidualWrapper,
)

__all__ = [
    "BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "GRUCell", "LSTMCell", "LSTMStateTuple",
    "MultiRNNCell", "RNNCell", "ResidualWrapper",
]
