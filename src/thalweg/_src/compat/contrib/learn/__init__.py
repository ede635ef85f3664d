"""tf.contrib.learn: Estimators with `fit`, experiments, data sets, and documents as rows of ids."""
