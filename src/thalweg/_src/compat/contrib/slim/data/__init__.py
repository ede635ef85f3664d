"""tf.contrib.slim data: dataset descriptions, decoders, and providers that read by queues."""
