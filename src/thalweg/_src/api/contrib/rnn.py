"""tf.contrib.rnn: cells and loops of recurrent networks."""

from thalweg._src.contrib.rnn.convolutional import Conv1DLSTMCell, Conv2DLSTMCell, Conv3DLSTMCell, ConvLSTMCell
from thalweg._src.contrib.rnn.fused import (
    FusedRNNCell,
    FusedRNNCellAdaptor,
    LSTMBlockFusedCell,
    LSTMBlockWrapper,
    TimeReversedFusedRNN,
    best_effort_input_batch_size,
)
from thalweg._src.contrib.rnn.gated import (
    GRUBlockCell,
    GRUBlockCellV2,
    IntersectionRNNCell,
    LayerNormBasicLSTMCell,
    LSTMBlockCell,
    UGRNNCell,
)
from thalweg._src.contrib.rnn.grid import BidirectionalGridLSTMCell, GridLSTMCell, TimeFreqLSTMCell
from thalweg._src.contrib.rnn.highway import CompiledWrapper, HighwayWrapper
from thalweg._src.contrib.rnn.independent import IndRNNCell, IndyGRUCell, IndyLSTMCell, SRUCell
from thalweg._src.contrib.rnn.lstm_variants import CoupledInputForgetGateLSTMCell, GLSTMCell, NASCell, PhasedLSTMCell
from thalweg._src.contrib.rnn.projections import (
    AttentionCellWrapper,
    EmbeddingWrapper,
    InputProjectionWrapper,
    OutputProjectionWrapper,
)
from thalweg._src.contrib.rnn.stacks import stack_bidirectional_dynamic_rnn, stack_bidirectional_rnn
from thalweg._src.nn.rnn.cells import (
    BasicLSTMCell,
    BasicRNNCell,
    GRUCell,
    LayerRNNCell,
    LSTMCell,
    LSTMStateTuple,
    MultiRNNCell,
    RNNCell,
)
from thalweg._src.nn.rnn.sizes import swap_batch_and_time as transpose_batch_time
from thalweg._src.nn.rnn.static import static_bidirectional_rnn, static_rnn, static_state_saving_rnn
from thalweg._src.nn.rnn.wrappers import DeviceWrapper, DropoutWrapper, ResidualWrapper

__all__ = [
    "AttentionCellWrapper",
    "BasicLSTMCell",
    "BasicRNNCell",
    "BidirectionalGridLSTMCell",
    "CompiledWrapper",
    "Conv1DLSTMCell",
    "Conv2DLSTMCell",
    "Conv3DLSTMCell",
    "ConvLSTMCell",
    "CoupledInputForgetGateLSTMCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "EmbeddingWrapper",
    "FusedRNNCell",
    "FusedRNNCellAdaptor",
    "GLSTMCell",
    "GRUBlockCell",
    "GRUBlockCellV2",
    "GRUCell",
    "GridLSTMCell",
    "HighwayWrapper",
    "IndRNNCell",
    "IndyGRUCell",
    "IndyLSTMCell",
    "InputProjectionWrapper",
    "IntersectionRNNCell",
    "LSTMBlockCell",
    "LSTMBlockFusedCell",
    "LSTMBlockWrapper",
    "LSTMCell",
    "LSTMStateTuple",
    "LayerNormBasicLSTMCell",
    "LayerRNNCell",
    "MultiRNNCell",
    "NASCell",
    "OutputProjectionWrapper",
    "PhasedLSTMCell",
    "RNNCell",
    "ResidualWrapper",
    "SRUCell",
    "TimeFreqLSTMCell",
    "TimeReversedFusedRNN",
    "UGRNNCell",
    "best_effort_input_batch_size",
    "stack_bidirectional_dynamic_rnn",
    "stack_bidirectional_rnn",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
    "transpose_batch_time",
]
