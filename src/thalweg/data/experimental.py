"""tf.data.experimental: Experimental dataset transformations and options."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.data.bucketing import bucket_by_sequence_length as bucket_by_sequence_length
from thalweg._src.training.data.buffers import AUTOTUNE as AUTOTUNE
from thalweg._src.training.data.cardinality import (
    INFINITE_CARDINALITY as INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY,
)
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
    SparseTensorStructure as SparseTensorStructure,
    TensorStructure as TensorStructure,
    cardinality as cardinality,
    choose_from_datasets as choose_from_datasets,
    copy_to_device as copy_to_device,
    dense_to_sparse_batch as dense_to_sparse_batch,
    enumerate_dataset as enumerate_dataset,
    from_variant as from_variant,
    get_single_element as get_single_element,
    get_structure as get_structure,
    group_by_window as group_by_window,
    ignore_errors as ignore_errors,
    map_and_batch as map_and_batch,
    map_and_batch as map_and_batch_with_legacy_function,
    parallel_interleave as parallel_interleave,
    prefetch_to_device as prefetch_to_device,
    sample_from_datasets as sample_from_datasets,
    scan as scan,
    shuffle_and_repeat as shuffle_and_repeat,
    take_while as take_while,
    to_variant as to_variant,
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
from thalweg._src.training.data.optional import (
    Optional as Optional,
    OptionalSpec as OptionalStructure,
)
from thalweg._src.training.data.options import (
    AutoShardPolicy as AutoShardPolicy,
    DistributeOptions as DistributeOptions,
    MapVectorizationOptions as MapVectorizationOptions,
    OptimizationOptions as OptimizationOptions,
    StatsOptions as StatsOptions,
    ThreadingOptions as ThreadingOptions,
)
from thalweg._src.training.data.sql import SqlDataset as SqlDataset
from thalweg._src.training.data.structure import (
    DatasetSpec as DatasetStructure,
    Spec as Structure,
)
from thalweg._src.training.data.writer import TFRecordWriter as TFRecordWriter

__all__ = [
    "AUTOTUNE", "AutoShardPolicy", "Counter", "CsvDataset", "DatasetStructure", "DistributeOptions",
    "INFINITE_CARDINALITY", "MapVectorizationOptions", "OptimizationOptions", "Optional", "OptionalStructure",
    "RandomDataset", "Reducer", "SparseTensorStructure", "SqlDataset", "StatsOptions", "Structure", "TFRecordWriter",
    "TensorStructure", "ThreadingOptions", "UNKNOWN_CARDINALITY", "bucket_by_sequence_length", "cardinality",
    "choose_from_datasets", "copy_to_device", "dense_to_sparse_batch", "enumerate_dataset", "from_variant",
    "get_next_as_optional", "get_single_element", "get_structure", "group_by_reducer", "group_by_window",
    "ignore_errors", "make_batched_features_dataset", "make_csv_dataset", "make_saveable_from_iterator",
    "map_and_batch", "map_and_batch_with_legacy_function", "parallel_interleave", "parse_example_dataset",
    "prefetch_to_device", "rejection_resample", "sample_from_datasets", "scan", "shuffle_and_repeat", "take_while",
    "to_variant", "unbatch", "unique",
]
