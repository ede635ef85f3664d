"""From training to production: saved models, transformed graphs, quantization, ONNX, model servers."""
