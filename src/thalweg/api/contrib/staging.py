"""tf.contrib.staging: values that one step leaves for the next."""

from thalweg.client.staging import StagingArea

__all__ = ["StagingArea"]
