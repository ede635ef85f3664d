"""tf.contrib.slim.nets: image classification networks."""
