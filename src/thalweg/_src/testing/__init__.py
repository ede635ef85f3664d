"""Test cases and benchmarks under tf.test's names."""
