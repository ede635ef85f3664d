"""tf.contrib.slim.dataset_data_provider: datasets read by queues."""

from thalweg._src.contrib.slim.data.providers import DatasetDataProvider

__all__ = ["DatasetDataProvider"]
