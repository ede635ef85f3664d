"""tf.contrib.slim.metrics: metrics over many batches, with predictions before labels."""

from thalweg._src.contrib.metrics.streaming import *  # noqa: F403
from thalweg._src.contrib.metrics.streaming import __all__ as __all__
