"""Signals: framing, windows, spectra, the mel scale."""
