"""tf.contrib.slim.data_provider: what gives the tensors of items."""

from thalweg.library.slim_data.providers import DataProvider

__all__ = ["DataProvider"]
