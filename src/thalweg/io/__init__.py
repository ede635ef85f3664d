"""tf.io: Input and output: TFRecord files, Examples, images, graphs and input queues."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.formats.record_files import (
    TFRecordCompressionType as TFRecordCompressionType,
    TFRecordOptions as TFRecordOptions,
    TFRecordWriter as TFRecordWriter,
    tf_record_iterator as tf_record_iterator,
)
from thalweg._src.compat.gen_ops import (
    decode_and_crop_jpeg as decode_and_crop_jpeg,
    decode_base64 as decode_base64,
    decode_bmp as decode_bmp,
    decode_compressed as decode_compressed,
    decode_gif as decode_gif,
    decode_jpeg as decode_jpeg,
    decode_json_example as decode_json_example,
    decode_png as decode_png,
    encode_base64 as encode_base64,
    encode_jpeg as encode_jpeg,
    extract_jpeg_shape as extract_jpeg_shape,
    matching_files as matching_files,
    parse_tensor as parse_tensor,
    read_file as read_file,
    serialize_tensor as serialize_tensor,
    write_file as write_file,
)
from thalweg._src.graph.graphdef import write_graph as write_graph
from thalweg._src.graph.ops.csv import decode_csv as decode_csv
from thalweg._src.graph.ops.decoding import decode_raw as decode_raw
from thalweg._src.graph.ops.image_coding import (
    decode_image as decode_image,
    encode_png as encode_png,
    is_jpeg as is_jpeg,
)
from thalweg._src.graph.ops.sparse_serial import (
    deserialize_many_sparse as deserialize_many_sparse,
    serialize_many_sparse as serialize_many_sparse,
    serialize_sparse as serialize_sparse,
)
from thalweg._src.training.input.features import (
    FixedLenFeature as FixedLenFeature,
    FixedLenSequenceFeature as FixedLenSequenceFeature,
    SparseFeature as SparseFeature,
    VarLenFeature as VarLenFeature,
    parse_example as parse_example,
    parse_sequence_example as parse_sequence_example,
    parse_single_example as parse_single_example,
    parse_single_sequence_example as parse_single_sequence_example,
)
from thalweg._src.training.input.producers import match_filenames_once as match_filenames_once
from thalweg._src.training.input.queues import (
    FIFOQueue as FIFOQueue,
    PaddingFIFOQueue as PaddingFIFOQueue,
    PriorityQueue as PriorityQueue,
    QueueBase as QueueBase,
    RandomShuffleQueue as RandomShuffleQueue,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.io import gfile as gfile

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["gfile"],
    {},
)

__all__ = [
    "FIFOQueue", "FixedLenFeature", "FixedLenSequenceFeature", "PaddingFIFOQueue", "PriorityQueue", "QueueBase",
    "RandomShuffleQueue", "SparseFeature", "TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter",
    "VarLenFeature", "decode_and_crop_jpeg", "decode_base64", "decode_bmp", "decode_compressed", "decode_csv",
    "decode_gif", "decode_image", "decode_jpeg", "decode_json_example", "decode_png", "decode_raw",
    "deserialize_many_sparse", "encode_base64", "encode_jpeg", "encode_png", "extract_jpeg_shape", "gfile", "is_jpeg",
    "match_filenames_once", "matching_files", "parse_example", "parse_sequence_example", "parse_single_example",
    "parse_single_sequence_example", "parse_tensor", "read_file", "serialize_many_sparse", "serialize_sparse",
    "serialize_tensor", "tf_record_iterator", "write_file", "write_graph",
]
