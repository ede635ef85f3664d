"""Automatic differentiation: graphs that compute gradients of graphs."""
