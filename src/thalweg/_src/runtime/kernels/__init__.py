"""Kernels: torch implementations of ops per device type, in modules that the registry imports on first compilation."""
