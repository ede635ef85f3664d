"""The passes over the graph of a step, from what the user built to one graph per device: no torch, no threads."""
