"""tf.contrib.cudnn_rnn: Recurrent layers with one variable, and cells that share their checkpoints."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.cudnn_rnn import (
    CudnnCompatibleGRUCell as CudnnCompatibleGRUCell,
    CudnnCompatibleLSTMCell as CudnnCompatibleLSTMCell,
    CudnnGRU as CudnnGRU,
    CudnnLSTM as CudnnLSTM,
    CudnnRNNRelu as CudnnRNNRelu,
    CudnnRNNTanh as CudnnRNNTanh,
)

__all__ = ["CudnnCompatibleGRUCell", "CudnnCompatibleLSTMCell", "CudnnGRU", "CudnnLSTM", "CudnnRNNRelu", "CudnnRNNTanh"]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
