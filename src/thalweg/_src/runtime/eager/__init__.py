"""Eager execution: operations that run when they are called, and tapes that record them for gradients."""
