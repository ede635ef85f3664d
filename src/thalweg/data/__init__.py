"""tf.data: Input pipelines: datasets and iterators."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.training.data.dataset import (
    Dataset as Dataset,
    get_output_classes as get_output_classes,
    get_output_shapes as get_output_shapes,
    get_output_types as get_output_types,
)
from thalweg._src.training.data.files import (
    FixedLengthRecordDataset as FixedLengthRecordDataset,
    TFRecordDataset as TFRecordDataset,
    TextLineDataset as TextLineDataset,
)
from thalweg._src.training.data.iterator import (
    Iterator as Iterator,
    make_initializable_iterator as make_initializable_iterator,
    make_one_shot_iterator as make_one_shot_iterator,
)
from thalweg._src.training.data.options import Options as Options
from thalweg._src.training.data.structure import DatasetSpec as DatasetSpec
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.data import experimental as experimental

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["experimental"],
    {},
)

__all__ = [
    "Dataset", "DatasetSpec", "FixedLengthRecordDataset", "Iterator", "Options", "TFRecordDataset", "TextLineDataset",
    "experimental", "get_output_classes", "get_output_shapes", "get_output_types", "make_initializable_iterator",
    "make_one_shot_iterator",
]
