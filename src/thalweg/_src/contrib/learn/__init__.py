"""tf.contrib.learn: the parts that need no Estimator."""
