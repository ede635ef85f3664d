"""tf.contrib.staging: values that one step leaves for the next."""

from thalweg._src.contrib.staging import StagingArea

__all__ = ["StagingArea"]
