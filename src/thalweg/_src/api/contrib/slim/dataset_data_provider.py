"""tf.contrib.slim.dataset_data_provider: datasets read by queues."""

from thalweg._src.library.slim_data.providers import DatasetDataProvider

__all__ = ["DatasetDataProvider"]
