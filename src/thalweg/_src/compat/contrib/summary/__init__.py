"""tf.contrib.summary: summaries that a step writes to an event file itself."""
