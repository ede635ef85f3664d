"""tf.data.experimental: further transformations of datasets."""

from thalweg._src.data.bucketing import bucket_by_sequence_length
from thalweg._src.data.cardinality import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, cardinality
from thalweg._src.data.csv import CsvDataset, make_csv_dataset
from thalweg._src.data.dataset import AUTOTUNE
from thalweg._src.data.examples import make_batched_features_dataset, parse_example_dataset
from thalweg._src.data.experimental import (
    Counter,
    RandomDataset,
    SparseTensorStructure,
    TensorStructure,
    choose_from_datasets,
    copy_to_device,
    dense_to_sparse_batch,
    enumerate_dataset,
    from_variant,
    get_single_element,
    get_structure,
    group_by_window,
    ignore_errors,
    map_and_batch,
    map_and_batch_with_legacy_function,
    parallel_interleave,
    prefetch_to_device,
    sample_from_datasets,
    scan,
    shuffle_and_repeat,
    take_while,
    to_variant,
    unbatch,
    unique,
)
from thalweg._src.data.grouping import Reducer, group_by_reducer, rejection_resample
from thalweg._src.data.iterator import make_saveable_from_iterator
from thalweg._src.data.optional import Optional, OptionalSpec as OptionalStructure, get_next_as_optional
from thalweg._src.data.options import (
    AutoShardPolicy,
    DistributeOptions,
    MapVectorizationOptions,
    OptimizationOptions,
    StatsOptions,
    ThreadingOptions,
)
from thalweg._src.data.sql import SqlDataset
from thalweg._src.data.structure import DatasetSpec as DatasetStructure, Spec as Structure
from thalweg._src.data.writer import TFRecordWriter

__all__ = [
    "AUTOTUNE",
    "AutoShardPolicy",
    "Counter",
    "CsvDataset",
    "DatasetStructure",
    "DistributeOptions",
    "INFINITE_CARDINALITY",
    "MapVectorizationOptions",
    "OptimizationOptions",
    "Optional",
    "OptionalStructure",
    "RandomDataset",
    "Reducer",
    "SparseTensorStructure",
    "SqlDataset",
    "StatsOptions",
    "Structure",
    "TFRecordWriter",
    "TensorStructure",
    "ThreadingOptions",
    "UNKNOWN_CARDINALITY",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "from_variant",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "make_saveable_from_iterator",
    "map_and_batch",
    "map_and_batch_with_legacy_function",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "to_variant",
    "unbatch",
    "unique",
]
