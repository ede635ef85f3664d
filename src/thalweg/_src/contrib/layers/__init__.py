"""tf.contrib.layers: layers as functions with normalizer and activation included, arguments from scopes."""
