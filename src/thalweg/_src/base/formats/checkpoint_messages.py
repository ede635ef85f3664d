"""Protocol messages of checkpoints: header and entries of a bundle, slices, and the state of a directory.

The classes are built on first use, in their own descriptor pool, so that they can coexist with TensorFlow's.
"""

from __future__ import annotations

import functools
from typing import Any

from thalweg._src.base.formats.graph_messages import add_messages

_FILE = "tensorflow/core/protobuf/checkpoint.proto"

# Fields by number: type, then name; a star marks repeated fields.
_MESSAGES: dict[str, dict[int, str]] = {
    "VersionDef": {1: "int32 producer", 2: "int32 min_consumer", 3: "int32* bad_consumers"},
    "Dim": {1: "int64 size", 2: "string name"},
    "TensorShapeProto": {2: "Dim* dim", 3: "bool unknown_rank"},
    "Extent": {1: "int64 start", 2: "int64 length"},
    "TensorSliceProto": {1: "Extent* extent"},
    "BundleHeaderProto": {1: "int32 num_shards", 2: "int32 endianness", 3: "VersionDef version"},
    "BundleEntryProto": {
        1: "int32 dtype",
        2: "TensorShapeProto shape",
        3: "int32 shard_id",
        4: "int64 offset",
        5: "int64 size",
        6: "fixed32 crc32c",
        7: "TensorSliceProto* slices",
    },
    "SavedSliceMeta": {1: "string name", 2: "TensorShapeProto shape", 3: "int32 type", 4: "TensorSliceProto* slice"},
    "SavedTensorSliceMeta": {1: "SavedSliceMeta* tensor", 2: "VersionDef versions"},
    "TensorValues": {  # as in TensorProto
        5: "float* float_val",
        6: "double* double_val",
        7: "int32* int_val",
        8: "bytes* string_val",
        9: "float* scomplex_val",
        10: "int64* int64_val",
        11: "bool* bool_val",
        12: "double* dcomplex_val",
        13: "int32* half_val",
        16: "uint32* uint32_val",
        17: "uint64* uint64_val",
    },
    "SavedSlice": {1: "string name", 2: "TensorSliceProto slice", 3: "TensorValues data"},
    "SavedTensorSlices": {1: "SavedTensorSliceMeta meta", 2: "SavedSlice data"},
    "CheckpointState": {
        1: "string model_checkpoint_path",
        2: "string* all_model_checkpoint_paths",
        3: "double* all_model_checkpoint_timestamps",
        4: "double last_preserved_timestamp",
    },
}


def _file() -> Any:
    from google.protobuf import descriptor_pb2

    file = descriptor_pb2.FileDescriptorProto(name=_FILE, package="tensorflow", syntax="proto3")
    add_messages(file, _MESSAGES, {name: f".tensorflow.{name}" for name in _MESSAGES})
    length = next(m for m in file.message_type if m.name == "Extent")
    length.oneof_decl.add(name="has_length")  # a slice without a length is a whole axis
    length.field[1].oneof_index = 0
    return file


@functools.cache
def _pool() -> Any:
    from google.protobuf import descriptor_pool

    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file())
    return pool


@functools.cache
def message_class(name: str) -> Any:
    """Returns the class of a message by its name."""
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"tensorflow.{name}"))
