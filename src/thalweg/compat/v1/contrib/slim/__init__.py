"""thalweg.contrib.slim under its name in TensorFlow 2."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.contrib.slim import *

__getattr__, __dir__ = _lazy_names(__name__, ("data_provider", "dataset", "dataset_data_provider", "evaluation", "initializers", "layers", "learning", "losses", "metrics", "model_analyzer", "nets", "parallel_reader", "prefetch_queue", "queues", "regularizers", "summaries", "tfexample_decoder", "utils",), {}, "thalweg.contrib.slim")
