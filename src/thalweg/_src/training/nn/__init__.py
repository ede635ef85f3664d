"""Building blocks of models: layers, losses, metrics, RNN cells, feature columns, distributions, lookup tables."""
