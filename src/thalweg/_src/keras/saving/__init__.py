"""Files of models: weights and whole models in HDF5, weights in checkpoints."""
