"""Variables: creation, sharing by scope, assignment, partitioning, initial values."""
