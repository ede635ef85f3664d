"""Partitioning: one step graph per device, Send and Recv where values cross."""
