"""tf.contrib.slim.dataset: what is known of a dataset."""

from thalweg._src.contrib.slim.data.providers import Dataset

__all__ = ["Dataset"]
