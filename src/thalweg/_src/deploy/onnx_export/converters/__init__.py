"""Converters: one function per op that writes the ONNX nodes with its meaning, in files named as those of `ops/`."""
