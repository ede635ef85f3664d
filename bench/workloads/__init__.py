"""The programs that every peer runs: same sizes, data and initial values."""
