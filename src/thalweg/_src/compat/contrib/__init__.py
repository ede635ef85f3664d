"""The parts of tf.contrib that have no other public name."""
