"""Executing compiled partitions: synchronous and pooled runs, the token engine, CUDA graphs."""
