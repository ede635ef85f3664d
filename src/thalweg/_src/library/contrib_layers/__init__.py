"""Layers as functions in the style of tf.contrib.layers: normalizer and activation included, arguments from scopes."""
