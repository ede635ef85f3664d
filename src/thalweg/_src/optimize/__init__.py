"""Graph to step: pruning and the rewrites that keep every fetched value the same."""
