"""Scheduling after partitioning: when values are sent and received, in which order nodes run, peak memory."""
