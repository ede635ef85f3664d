"""thalweg.contrib under its name in TensorFlow 2."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib import *

__getattr__, __dir__ = _lazy_names(__name__, ("all_reduce", "autograph", "cluster_resolver", "compiler", "crf", "cudnn_rnn", "data", "deprecated", "distribute", "distributions", "eager", "estimator", "feature_column", "framework", "gan", "graph_editor", "hooks", "image", "input_pipeline", "integrate", "layers", "learn", "legacy_seq2seq", "lite", "lookup", "losses", "memory_stats", "metrics", "mixed_precision", "nccl", "nn", "opt", "predictor", "quantize", "resampler", "rnn", "saved_model", "seq2seq", "signal", "slim", "sparsemax", "staging", "stateless", "summary", "tensorboard", "tpu", "training", "util",), {}, "thalweg.contrib")
