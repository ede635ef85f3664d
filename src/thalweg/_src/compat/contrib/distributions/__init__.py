"""tf.contrib.distributions: bijectors, compound, multivariate and relaxed distributions."""
