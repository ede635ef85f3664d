"""Quantization of trained models: ranges are measured on samples, and rounding is added to the frozen graph."""
