"""tf.test: test cases and benchmarks."""
