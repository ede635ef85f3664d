"""Kernels: op and device type to torch; importing this package registers all of them."""
