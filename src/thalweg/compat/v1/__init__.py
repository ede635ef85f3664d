"""thalweg under its name in TensorFlow 2."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg import *

__getattr__, __dir__ = _lazy_names(__name__, ("app", "audio", "autograph", "bitwise", "config", "contrib", "data", "debugging", "distribute", "distributions", "dtypes", "errors", "estimator", "examples", "export", "feature_column", "flags", "gfile", "graph_util", "image", "initializers", "io", "keras", "layers", "linalg", "lite", "logging", "lookup", "losses", "manip", "math", "metrics", "mixed_precision", "nest", "nn", "onnx", "profiler", "python_io", "quantization", "queue", "ragged", "random", "ray", "resource_loader", "saved_model", "serving", "sets", "signal", "sparse", "spectral", "strings", "summary", "sysconfig", "test", "tools", "tpu", "train", "version", "xla",), {}, "thalweg")
