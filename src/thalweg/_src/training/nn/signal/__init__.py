"""Signal processing: frames, windows, spectra, mel scale."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "fft_length": "Length of the transforms; by default the next power of two.",
    "forward_window_fn": "The window of the forward transform.",
    "frame_length": "Number of samples of a frame.",
    "frame_step": "Number of samples between the starts of frames.",
    "log_mel_spectrograms": "Logarithms of mel spectrograms [..., bands].",
    "lower_edge_hertz": "Lowest frequency.",
    "mdcts": "The transforms [..., frames, length].",
    "num_mel_bins": "Number of mel bands.",
    "num_spectrogram_bins": "Number of bins of the spectrogram.",
    "pad_end": "Whether the end is padded so that all samples are in a frame.",
    "periodic": "Whether the window is periodic, not symmetric.",
    "signals": "The signals, along the last dimension.",
    "stfts": "The transforms [..., frames, bins].",
    "upper_edge_hertz": "Highest frequency.",
    "window_fn": "Function `(length, dtype=...)` that returns a window; None uses none.",
    "window_length": "Number of samples of the window.",
}
