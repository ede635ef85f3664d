"""tf.data: input pipelines."""

from importlib import import_module as _import_module
from typing import Any

from thalweg._src.data.dataset import Dataset, get_output_classes, get_output_shapes, get_output_types
from thalweg._src.data.files import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from thalweg._src.data.iterator import Iterator, make_initializable_iterator, make_one_shot_iterator
from thalweg._src.data.options import Options
from thalweg._src.data.structure import DatasetSpec

__all__ = [
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]


def __getattr__(name: str) -> Any:
    if name == "experimental":
        return _import_module(f"{__name__}.experimental")
    raise AttributeError(f"module 'thalweg.data' has no attribute {name!r}")
