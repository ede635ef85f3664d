"""Callbacks: what is called at points of training."""
