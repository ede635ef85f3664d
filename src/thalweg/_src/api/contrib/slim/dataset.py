"""tf.contrib.slim.dataset: what is known of a dataset."""

from thalweg._src.library.slim_data.providers import Dataset

__all__ = ["Dataset"]
