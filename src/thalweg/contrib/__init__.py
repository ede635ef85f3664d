"""tf.contrib: The parts of tf.contrib that published programs use most."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib import all_reduce as all_reduce
    from thalweg.contrib import autograph as autograph
    from thalweg.contrib import cluster_resolver as cluster_resolver
    from thalweg.contrib import compiler as compiler
    from thalweg.contrib import crf as crf
    from thalweg.contrib import cudnn_rnn as cudnn_rnn
    from thalweg.contrib import data as data
    from thalweg.contrib import deprecated as deprecated
    from thalweg.contrib import distribute as distribute
    from thalweg.contrib import distributions as distributions
    from thalweg.contrib import eager as eager
    from thalweg.contrib import estimator as estimator
    from thalweg.contrib import feature_column as feature_column
    from thalweg.contrib import framework as framework
    from thalweg.contrib import gan as gan
    from thalweg.contrib import graph_editor as graph_editor
    from thalweg.contrib import hooks as hooks
    from thalweg.contrib import image as image
    from thalweg.contrib import input_pipeline as input_pipeline
    from thalweg.contrib import integrate as integrate
    from thalweg.contrib import layers as layers
    from thalweg.contrib import learn as learn
    from thalweg.contrib import legacy_seq2seq as legacy_seq2seq
    from thalweg.contrib import lite as lite
    from thalweg.contrib import lookup as lookup
    from thalweg.contrib import losses as losses
    from thalweg.contrib import memory_stats as memory_stats
    from thalweg.contrib import metrics as metrics
    from thalweg.contrib import mixed_precision as mixed_precision
    from thalweg.contrib import nccl as nccl
    from thalweg.contrib import nn as nn
    from thalweg.contrib import opt as opt
    from thalweg.contrib import predictor as predictor
    from thalweg.contrib import quantize as quantize
    from thalweg.contrib import resampler as resampler
    from thalweg.contrib import rnn as rnn
    from thalweg.contrib import saved_model as saved_model
    from thalweg.contrib import seq2seq as seq2seq
    from thalweg.contrib import signal as signal
    from thalweg.contrib import slim as slim
    from thalweg.contrib import sparsemax as sparsemax
    from thalweg.contrib import staging as staging
    from thalweg.contrib import stateless as stateless
    from thalweg.contrib import summary as summary
    from thalweg.contrib import tensorboard as tensorboard
    from thalweg.contrib import tpu as tpu
    from thalweg.contrib import training as training
    from thalweg.contrib import util as util

__getattr__, __dir__ = _lazy_names(
    __name__,
    [
        "all_reduce", "autograph", "cluster_resolver", "compiler", "crf", "cudnn_rnn", "data", "deprecated",
        "distribute", "distributions", "eager", "estimator", "feature_column", "framework", "gan", "graph_editor",
        "hooks", "image", "input_pipeline", "integrate", "layers", "learn", "legacy_seq2seq", "lite", "lookup",
        "losses", "memory_stats", "metrics", "mixed_precision", "nccl", "nn", "opt", "predictor", "quantize",
        "resampler", "rnn", "saved_model", "seq2seq", "signal", "slim", "sparsemax", "staging", "stateless", "summary",
        "tensorboard", "tpu", "training", "util",
    ],
    {},
)

__all__ = [
    "all_reduce", "autograph", "cluster_resolver", "compiler", "crf", "cudnn_rnn", "data", "deprecated", "distribute",
    "distributions", "eager", "estimator", "feature_column", "framework", "gan", "graph_editor", "hooks", "image",
    "input_pipeline", "integrate", "layers", "learn", "legacy_seq2seq", "lite", "lookup", "losses", "memory_stats",
    "metrics", "mixed_precision", "nccl", "nn", "opt", "predictor", "quantize", "resampler", "rnn", "saved_model",
    "seq2seq", "signal", "slim", "sparsemax", "staging", "stateless", "summary", "tensorboard", "tpu", "training",
    "util",
]

from thalweg._src.compat.source_paths import register as _register

_register(__name__)
