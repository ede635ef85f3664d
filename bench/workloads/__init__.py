"""The programs that every peer runs: same sizes, same data, same first values."""
