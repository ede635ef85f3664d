"""Export of inference graphs to ONNX: steps, frozen and simplified, become models that other runtimes execute."""
