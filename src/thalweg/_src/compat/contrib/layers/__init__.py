"""tf.contrib.layers: layers as functions with normalizer and activation, and arguments from arg_scope."""
