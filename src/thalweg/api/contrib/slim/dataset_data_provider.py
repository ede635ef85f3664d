"""tf.contrib.slim.dataset_data_provider: datasets read by queues."""

from thalweg.library.slim_data.providers import DatasetDataProvider

__all__ = ["DatasetDataProvider"]
