"""tf.data.experimental: further transformations of datasets."""

from thalweg.datasets.bucketing import bucket_by_sequence_length
from thalweg.datasets.csv import CsvDataset, make_csv_dataset
from thalweg.datasets.dataset import AUTOTUNE
from thalweg.datasets.examples import make_batched_features_dataset, parse_example_dataset
from thalweg.datasets.experimental import (
    Counter,
    RandomDataset,
    SparseTensorStructure,
    TensorStructure,
    choose_from_datasets,
    copy_to_device,
    dense_to_sparse_batch,
    enumerate_dataset,
    get_single_element,
    get_structure,
    group_by_window,
    ignore_errors,
    map_and_batch,
    parallel_interleave,
    prefetch_to_device,
    sample_from_datasets,
    scan,
    shuffle_and_repeat,
    take_while,
    unbatch,
    unique,
)
from thalweg.datasets.iterator import make_saveable_from_iterator
from thalweg.datasets.options import DistributeOptions, OptimizationOptions, ThreadingOptions
from thalweg.datasets.writer import TFRecordWriter

__all__ = [
    "AUTOTUNE",
    "Counter",
    "CsvDataset",
    "DistributeOptions",
    "OptimizationOptions",
    "RandomDataset",
    "SparseTensorStructure",
    "TFRecordWriter",
    "TensorStructure",
    "ThreadingOptions",
    "bucket_by_sequence_length",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "get_single_element",
    "get_structure",
    "group_by_window",
    "ignore_errors",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "make_saveable_from_iterator",
    "map_and_batch",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "sample_from_datasets",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "unbatch",
    "unique",
]
