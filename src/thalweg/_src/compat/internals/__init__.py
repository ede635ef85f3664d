"""Internals of TensorFlow that published programs import, each module under the name of TensorFlow's own."""
