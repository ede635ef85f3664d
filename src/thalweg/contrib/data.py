"""tf.contrib.data: Dataset transformations under their deprecated names."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.data import (
    assert_element_shape as assert_element_shape,
    batch_and_drop_remainder as batch_and_drop_remainder,
    padded_batch_and_drop_remainder as padded_batch_and_drop_remainder,
    sliding_window_batch as sliding_window_batch,
)
from thalweg._src.training.data.bucketing import bucket_by_sequence_length as bucket_by_sequence_length
from thalweg._src.training.data.buffers import AUTOTUNE as AUTOTUNE
from thalweg._src.training.data.csv import (
    CsvDataset as CsvDataset,
    make_csv_dataset as make_csv_dataset,
)
from thalweg._src.training.data.examples import (
    make_batched_features_dataset as make_batched_features_dataset,
    parse_example_dataset as parse_example_dataset,
)
from thalweg._src.training.data.experimental import (
    Counter as Counter,
    RandomDataset as RandomDataset,
    choose_from_datasets as choose_from_datasets,
    copy_to_device as copy_to_device,
    dense_to_sparse_batch as dense_to_sparse_batch,
    enumerate_dataset as enumerate_dataset,
    get_single_element as get_single_element,
    group_by_window as group_by_window,
    ignore_errors as ignore_errors,
    map_and_batch as map_and_batch,
    parallel_interleave as parallel_interleave,
    prefetch_to_device as prefetch_to_device,
    sample_from_datasets as sample_from_datasets,
    scan as scan,
    shuffle_and_repeat as shuffle_and_repeat,
    unbatch as unbatch,
    unique as unique,
)
from thalweg._src.training.data.grouping import (
    Reducer as Reducer,
    group_by_reducer as group_by_reducer,
    rejection_resample as rejection_resample,
)
from thalweg._src.training.data.iterator import (
    get_next_as_optional as get_next_as_optional,
    make_saveable_from_iterator as make_saveable_from_iterator,
)
from thalweg._src.training.data.sql import SqlDataset as SqlDataset
from thalweg._src.training.data.writer import TFRecordWriter as TFRecordWriter

__all__ = [
    "AUTOTUNE", "Counter", "CsvDataset", "RandomDataset", "Reducer", "SqlDataset", "TFRecordWriter",
    "assert_element_shape", "batch_and_drop_remainder", "bucket_by_sequence_length", "choose_from_datasets",
    "copy_to_device", "dense_to_sparse_batch", "enumerate_dataset", "get_next_as_optional", "get_single_element",
    "group_by_reducer", "group_by_window", "ignore_errors", "make_batched_features_dataset", "make_csv_dataset",
    "make_saveable_from_iterator", "map_and_batch", "padded_batch_and_drop_remainder", "parallel_interleave",
    "parse_example_dataset", "prefetch_to_device", "rejection_resample", "sample_from_datasets", "scan",
    "shuffle_and_repeat", "sliding_window_batch", "unbatch", "unique",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
