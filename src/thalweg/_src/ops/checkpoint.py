"""Checkpoint save and restore ops, and the names of shards."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.ops.shape_functions import no_outputs, same_dimension, vector_size
from thalweg._src.ops.strings import require_scalar
from thalweg._src.shapes import Shape


def _named(c: Inference, count: int, lists: Sequence[int] = (1, 2)) -> None:
    """Requires a prefix, and a name and a slice for each of `count` tensors."""
    require_scalar(c, 0)
    for index in lists:
        name = c.definition.inputs[index].name
        same_dimension(
            vector_size(c, index), count, f"{name} and tensors differ in number", f"{count} {name}, one per tensor"
        )


def _save(c: Inference) -> Sequence[Shape]:
    _named(c, len(c.shapes) - 3)
    return []


def _save_whole(c: Inference) -> Sequence[Shape]:
    _named(c, len(c.shapes) - 2, (1,))
    return []


def _restore(c: Inference) -> Sequence[Shape]:
    """A slice has the shape that its spec states; a whole tensor can have any."""
    _named(c, c.num_outputs)
    specs = c.partial(2)
    return [None] * c.num_outputs if specs is None else [_sliced_shape(spec) for spec in specs]


def _restore_one(c: Inference) -> Sequence[Shape]:
    for index in range(len(c.shapes)):
        require_scalar(c, index)
    spec = c.partial(2) if len(c.shapes) > 2 else None
    return [None if spec is None else _sliced_shape(spec.item())]


def _sliced_shape(spec: object) -> Shape:
    """Returns the shape of a slice such as "10 4 0,3:-"; a malformed spec is rejected at run time."""
    if not isinstance(spec, bytes) or not spec:
        return None
    *sizes, extents = spec.split(b" ")
    try:
        pairs = zip(sizes, extents.split(b":"), strict=True)
        shape = tuple(int(size if extent == b"-" else extent.split(b",")[1]) for size, extent in pairs)
    except (ValueError, IndexError):
        return None
    return shape if all(size >= 0 for size in shape) else None


def _merge(c: Inference) -> Sequence[Shape]:
    vector_size(c, 0)
    require_scalar(c, 1)
    return []


def _filename(c: Inference) -> Sequence[Shape]:
    for index in range(len(c.shapes)):
        require_scalar(c, index)
    return [()]


save_v2_op = op(
    "SaveV2",
    "prefix: string, tensor_names: string, shape_and_slices: string, tensors: list(dtypes) ->",
    external="writes checkpoints",
    dtypes=attr.type_list(1),
    stateful=True,
    differentiable=False,
    infer=_save,
    doc="Saves tensors to a checkpoint, which becomes visible once all of them are on disk.",
)
restore_v2_op = op(
    "RestoreV2",
    "prefix: string, tensor_names: string, shape_and_slices: string -> tensors: list(dtypes)",
    external="reads checkpoints",
    dtypes=attr.type_list(1),
    stateful=True,
    differentiable=False,
    infer=_restore,
    doc="Restores tensors, or slices of them, from a checkpoint.",
)
merge_v2_checkpoints_op = op(
    "MergeV2Checkpoints",
    "checkpoint_prefixes: string, destination_prefix: string ->",
    external="writes checkpoints",
    delete_old_dirs=True,
    allow_missing_files=False,
    stateful=True,
    differentiable=False,
    infer=_merge,
    doc="Merges several checkpoints into one by moving their files.",
)
sharded_filename_op = op(
    "ShardedFilename",
    "basename: string, shard: int32, num_shards: int32 -> filename: string",
    differentiable=False,
    host="shard, num_shards",
    infer=_filename,
    doc="Returns the name of one shard of a file.",
)
sharded_filespec_op = op(
    "ShardedFilespec",
    "basename: string, num_shards: int32 -> filename: string",
    differentiable=False,
    host="num_shards",
    infer=_filename,
    doc="Returns the pattern that matches the names of all shards of a file.",
)
disable_copy_on_read_op = op(
    "DisableCopyOnRead",
    "resource: resource ->",
    stateful=True,
    differentiable=False,
    infer=no_outputs,
    doc="Does nothing, since reading a variable for a checkpoint needs no copy; TensorFlow's savers contain it.",
)

# Version 1 checkpoints, a single file.

save_op = op(
    "Save",
    "filename: string, tensor_names: string, data: list(T) ->",
    external="writes checkpoints",
    T=attr.type_list(1),
    stateful=True,
    differentiable=False,
    infer=_save_whole,
    doc="Saves tensors to a version 1 checkpoint.",
)
save_slices_op = op(
    "SaveSlices",
    "filename: string, tensor_names: string, shapes_and_slices: string, data: list(T) ->",
    external="writes checkpoints",
    T=attr.type_list(1),
    stateful=True,
    differentiable=False,
    infer=_save,
    doc="Saves tensors, or slices of them, to a version 1 checkpoint.",
)
restore_op = op(
    "Restore",
    "file_pattern: string, tensor_name: string -> tensor: dt",
    external="reads checkpoints",
    dt=attr.types(),
    preferred_shard=-1,
    stateful=True,
    differentiable=False,
    infer=_restore_one,
    doc="Restores a tensor from a checkpoint of either version.",
)
restore_slice_op = op(
    "RestoreSlice",
    "file_pattern: string, tensor_name: string, shape_and_slice: string -> tensor: dt",
    external="reads checkpoints",
    dt=attr.types(),
    preferred_shard=-1,
    stateful=True,
    differentiable=False,
    infer=_restore_one,
    doc="Restores a slice of a tensor from a checkpoint of either version.",
)
