"""tf.contrib.metrics: streaming metrics."""
