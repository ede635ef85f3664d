"""Graph optimization: pruning, and rewrites that preserve every fetched value."""
