"""Datasets of files: TFRecords, text lines, records of fixed length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.data.dataset import Dataset
from thalweg._src.training.data.node import add_dataset, parameter
from thalweg._src.training.data.readers import FromFiles, Lines, Pieces, Records
from thalweg._src.training.data.structure import TensorSpec

_STRING = TensorSpec((), dtypes.string)


def _one(iteration_type: type[FromFiles], filenames: Tensor, values: list[Tensor]) -> Dataset:
    return Dataset(add_dataset(iteration_type, _STRING, values=[filenames, *values]), _STRING)


class _FileDataset(Dataset):
    """A dataset of the contents of files, which a tensor or another dataset names."""

    def __init__(
        self,
        iteration_type: type[FromFiles],
        filenames: TensorLike | Dataset,
        values: list[Tensor],
        num_parallel_reads: TensorLike | None,
    ) -> None:
        if isinstance(filenames, Dataset):
            if filenames.output_types is not dtypes.string:
                raise TypeError(f"`filenames` must be a `tf.data.Dataset` of `tf.string` elements, not {filenames}")
            if filenames._structure.dims not in ((), None, (None,)) and len(filenames._structure.dims or ()) > 1:
                raise ValueError(f"`filenames` must be a `tf.data.Dataset` of scalars or vectors, not {filenames}")
            names = filenames
        else:
            tensor = convert_to_tensor(filenames, dtypes.string, name="filenames")
            if num_parallel_reads is None:
                inner = _one(iteration_type, tensor, values)
                super().__init__(inner._variant, inner._structure)
                return
            names = Dataset.from_tensor_slices(reshape(tensor, [-1]))
        read: Callable[[Any], Dataset] = lambda name: _one(iteration_type, name, values)  # noqa: E731
        if num_parallel_reads is None:
            inner = names.flat_map(read)
        else:
            inner = names.interleave(read, cycle_length=num_parallel_reads, num_parallel_calls=num_parallel_reads)
        super().__init__(inner._variant, inner._structure)


def _compression(compression_type: TensorLike | None) -> Tensor:
    return convert_to_tensor("" if compression_type is None else compression_type, dtypes.string, name="compression")


@export("data.TFRecordDataset")
class TFRecordDataset(_FileDataset):
    """The records of TFRecord files.

    Args:
        buffer_size: Accepted for compatibility; the buffer's size is chosen.
    """

    def __init__(
        self,
        filenames: TensorLike | Dataset,
        compression_type: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        num_parallel_reads: TensorLike | None = None,
    ) -> None:
        super().__init__(Records, filenames, [_compression(compression_type)], num_parallel_reads)


@export("data.TextLineDataset")
class TextLineDataset(_FileDataset):
    """The lines of text files.

    Args:
        buffer_size: Accepted for compatibility; the buffer's size is chosen.
    """

    def __init__(
        self,
        filenames: TensorLike | Dataset,
        compression_type: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        num_parallel_reads: TensorLike | None = None,
    ) -> None:
        super().__init__(Lines, filenames, [_compression(compression_type)], num_parallel_reads)


@export("data.FixedLengthRecordDataset")
class FixedLengthRecordDataset(_FileDataset):
    """Records of fixed length from binary files.

    Args:
        buffer_size: Accepted for compatibility; the buffer's size is chosen.
    """

    def __init__(
        self,
        filenames: TensorLike | Dataset,
        record_bytes: TensorLike,
        header_bytes: TensorLike | None = None,
        footer_bytes: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        compression_type: TensorLike | None = None,
        num_parallel_reads: TensorLike | None = None,
    ) -> None:
        sizes = [parameter(0 if size is None else size) for size in (record_bytes, header_bytes, footer_bytes)]
        super().__init__(Pieces, filenames, [_compression(compression_type), *sizes], num_parallel_reads)
