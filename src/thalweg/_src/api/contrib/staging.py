"""tf.contrib.staging: values that one step leaves for the next."""

from thalweg._src.client.staging import StagingArea

__all__ = ["StagingArea"]
