"""tf.contrib.signal: Signal processing: framing, short-time Fourier transforms, windows and the mel scale."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.nn.signal.frames import (
    frame as frame,
    inverse_mdct as inverse_mdct,
    inverse_stft as inverse_stft,
    inverse_stft_window_fn as inverse_stft_window_fn,
    mdct as mdct,
    overlap_and_add as overlap_and_add,
    stft as stft,
)
from thalweg._src.training.nn.signal.mel import (
    linear_to_mel_weight_matrix as linear_to_mel_weight_matrix,
    mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms,
)
from thalweg._src.training.nn.signal.windows import (
    hamming_window as hamming_window,
    hann_window as hann_window,
)

__all__ = [
    "frame", "hamming_window", "hann_window", "inverse_mdct", "inverse_stft", "inverse_stft_window_fn",
    "linear_to_mel_weight_matrix", "mdct", "mfccs_from_log_mel_spectrograms", "overlap_and_add", "stft",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
