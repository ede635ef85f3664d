"""tf.contrib.gan: generative adversarial networks."""
