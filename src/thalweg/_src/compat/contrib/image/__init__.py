"""tf.contrib.image: warping and colour changes."""
