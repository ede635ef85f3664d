"""Signal processing: frames, windows, spectra, mel scale."""
