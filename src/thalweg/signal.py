"""tf.signal: Signal processing: Fourier and cosine transforms, framing, windows and the mel scale."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.gen_ops import (
    fft as fft,
    fft2d as fft2d,
    fft3d as fft3d,
    ifft as ifft,
    ifft2d as ifft2d,
    ifft3d as ifft3d,
)
from thalweg._src.graph.ops.spectral import (
    dct as dct,
    fftshift as fftshift,
    idct as idct,
    ifftshift as ifftshift,
    irfft as irfft,
    irfft2d as irfft2d,
    irfft3d as irfft3d,
    rfft as rfft,
    rfft2d as rfft2d,
    rfft3d as rfft3d,
)
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
    kaiser_bessel_derived_window as kaiser_bessel_derived_window,
    kaiser_window as kaiser_window,
    vorbis_window as vorbis_window,
)

__all__ = [
    "dct", "fft", "fft2d", "fft3d", "fftshift", "frame", "hamming_window", "hann_window", "idct", "ifft", "ifft2d",
    "ifft3d", "ifftshift", "inverse_mdct", "inverse_stft", "inverse_stft_window_fn", "irfft", "irfft2d", "irfft3d",
    "kaiser_bessel_derived_window", "kaiser_window", "linear_to_mel_weight_matrix", "mdct",
    "mfccs_from_log_mel_spectrograms", "overlap_and_add", "rfft", "rfft2d", "rfft3d", "stft", "vorbis_window",
]
