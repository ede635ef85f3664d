"""Variables: creation, sharing by scope, assignment, partitioning, initializers."""
