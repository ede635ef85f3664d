"""What models are built of: layers, losses, metrics, recurrent cells, feature columns, distributions, lookup tables."""
