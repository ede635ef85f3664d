"""tf.contrib.rnn: Recurrent cells, cell wrappers and recurrent loops."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.rnn.convolutional import (
    Conv1DLSTMCell as Conv1DLSTMCell,
    Conv2DLSTMCell as Conv2DLSTMCell,
    Conv3DLSTMCell as Conv3DLSTMCell,
    ConvLSTMCell as ConvLSTMCell,
)
from thalweg._src.compat.contrib.rnn.fused import (
    FusedRNNCell as FusedRNNCell,
    FusedRNNCellAdaptor as FusedRNNCellAdaptor,
    LSTMBlockFusedCell as LSTMBlockFusedCell,
    LSTMBlockWrapper as LSTMBlockWrapper,
    TimeReversedFusedRNN as TimeReversedFusedRNN,
    best_effort_input_batch_size as best_effort_input_batch_size,
)
from thalweg._src.compat.contrib.rnn.gated import (
    GRUBlockCell as GRUBlockCell,
    GRUBlockCellV2 as GRUBlockCellV2,
    IntersectionRNNCell as IntersectionRNNCell,
    LSTMBlockCell as LSTMBlockCell,
    LayerNormBasicLSTMCell as LayerNormBasicLSTMCell,
    UGRNNCell as UGRNNCell,
)
from thalweg._src.compat.contrib.rnn.grid import (
    BidirectionalGridLSTMCell as BidirectionalGridLSTMCell,
    GridLSTMCell as GridLSTMCell,
    TimeFreqLSTMCell as TimeFreqLSTMCell,
)
from thalweg._src.compat.contrib.rnn.highway import (
    CompiledWrapper as CompiledWrapper,
    HighwayWrapper as HighwayWrapper,
)
from thalweg._src.compat.contrib.rnn.independent import (
    IndRNNCell as IndRNNCell,
    IndyGRUCell as IndyGRUCell,
    IndyLSTMCell as IndyLSTMCell,
    SRUCell as SRUCell,
)
from thalweg._src.compat.contrib.rnn.lstm_variants import (
    CoupledInputForgetGateLSTMCell as CoupledInputForgetGateLSTMCell,
    GLSTMCell as GLSTMCell,
    NASCell as NASCell,
    PhasedLSTMCell as PhasedLSTMCell,
)
from thalweg._src.compat.contrib.rnn.projections import (
    AttentionCellWrapper as AttentionCellWrapper,
    EmbeddingWrapper as EmbeddingWrapper,
    InputProjectionWrapper as InputProjectionWrapper,
    OutputProjectionWrapper as OutputProjectionWrapper,
)
from thalweg._src.compat.contrib.rnn.stacks import (
    stack_bidirectional_dynamic_rnn as stack_bidirectional_dynamic_rnn,
    stack_bidirectional_rnn as stack_bidirectional_rnn,
)
from thalweg._src.training.nn.rnn.cells import (
    BasicLSTMCell as BasicLSTMCell,
    BasicRNNCell as BasicRNNCell,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    LSTMStateTuple as LSTMStateTuple,
    LayerRNNCell as LayerRNNCell,
    MultiRNNCell as MultiRNNCell,
    RNNCell as RNNCell,
)
from thalweg._src.training.nn.rnn.sizes import swap_batch_and_time as transpose_batch_time
from thalweg._src.training.nn.rnn.static import (
    static_bidirectional_rnn as static_bidirectional_rnn,
    static_rnn as static_rnn,
    static_state_saving_rnn as static_state_saving_rnn,
)
from thalweg._src.training.nn.rnn.wrappers import (
    DeviceWrapper as DeviceWrapper,
    DropoutWrapper as DropoutWrapper,
    ResidualWrapper as ResidualWrapper,
)

__all__ = [
    "AttentionCellWrapper", "BasicLSTMCell", "BasicRNNCell", "BidirectionalGridLSTMCell", "CompiledWrapper",
    "Conv1DLSTMCell", "Conv2DLSTMCell", "Conv3DLSTMCell", "ConvLSTMCell", "CoupledInputForgetGateLSTMCell",
    "DeviceWrapper", "DropoutWrapper", "EmbeddingWrapper", "FusedRNNCell", "FusedRNNCellAdaptor", "GLSTMCell",
    "GRUBlockCell", "GRUBlockCellV2", "GRUCell", "GridLSTMCell", "HighwayWrapper", "IndRNNCell", "IndyGRUCell",
    "IndyLSTMCell", "InputProjectionWrapper", "IntersectionRNNCell", "LSTMBlockCell", "LSTMBlockFusedCell",
    "LSTMBlockWrapper", "LSTMCell", "LSTMStateTuple", "LayerNormBasicLSTMCell", "LayerRNNCell", "MultiRNNCell",
    "NASCell", "OutputProjectionWrapper", "PhasedLSTMCell", "RNNCell", "ResidualWrapper", "SRUCell", "TimeFreqLSTMCell",
    "TimeReversedFusedRNN", "UGRNNCell", "best_effort_input_batch_size", "stack_bidirectional_dynamic_rnn",
    "stack_bidirectional_rnn", "static_bidirectional_rnn", "static_rnn", "static_state_saving_rnn",
    "transpose_batch_time",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
