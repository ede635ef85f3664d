"""tf.contrib.quantize: training with the rounding of a few bits."""
