"""Simulation of data-parallel training: step time, throughput and staleness for 1 to 10,000 workers."""
