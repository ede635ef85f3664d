"""Feature columns: descriptions of how raw features become inputs of a model."""
