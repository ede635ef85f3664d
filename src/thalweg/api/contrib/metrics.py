"""tf.contrib.metrics: metrics over many batches, with predictions before labels."""

from thalweg.library.metrics.streaming import *  # noqa: F403
from thalweg.library.metrics.streaming import __all__ as __all__
