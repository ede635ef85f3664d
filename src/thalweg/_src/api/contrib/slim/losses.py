"""tf.contrib.slim.losses: losses with predictions before labels."""

from thalweg._src.api.contrib.losses import *  # noqa: F403
from thalweg._src.api.contrib.losses import __all__ as __all__
