"""Feature columns: from raw features to the inputs of a model."""
