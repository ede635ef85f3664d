"""Partitioning: one step graph a device, Send and Recv where values cross."""
