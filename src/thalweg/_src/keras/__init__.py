"""Keras: models made of layers, trained by `fit`, for graphs and sessions, eager execution and functions alike."""
