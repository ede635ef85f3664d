"""tf.contrib.slim: networks and the input side."""
