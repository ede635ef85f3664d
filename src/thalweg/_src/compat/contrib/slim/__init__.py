"""tf.contrib.slim: image networks and data providers."""
