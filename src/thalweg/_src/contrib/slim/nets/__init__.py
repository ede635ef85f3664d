"""Well-known networks for images, in the style of tf.contrib.slim.nets."""
