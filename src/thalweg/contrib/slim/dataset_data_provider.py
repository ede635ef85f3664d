"""tf.contrib.slim.dataset_data_provider: Data providers that read a dataset by queues."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.data.providers import DatasetDataProvider as DatasetDataProvider

__all__ = ["DatasetDataProvider"]
