"""Kernels: op and device type to torch, in modules that the registry imports when a step is first compiled."""
