"""tf.contrib.training: training and evaluation loops, hyperparameters, bucketing."""
