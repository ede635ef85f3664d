"""File and wire formats: checkpoints, record files, events, messages and text; no graph, no torch."""
