"""What is built from operations and variables: layers, losses, metrics, cells, regularizers."""
