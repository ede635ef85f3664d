"""Serving: SavedModels behind the protocols of TensorFlow Serving and the Open Inference Protocol."""
