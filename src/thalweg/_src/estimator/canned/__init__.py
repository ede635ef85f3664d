"""Estimators of common models: linear ones, networks of dense layers, both together, and a baseline."""
