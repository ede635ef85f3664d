"""Checkpoint save and restore ops, and the names of shards."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op, stateful_op
from thalweg._src.graph.ops.shape_functions import no_outputs, same_dimension, vector_size
from thalweg._src.graph.ops.strings import require_scalar


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


save_v2_op = stateful_op(
    "SaveV2",
    "prefix: string, tensor_names: string, shape_and_slices: string, tensors: list(dtypes) ->",
    "Saves tensors to a checkpoint, which becomes visible once all of them are on disk.",
    dtypes=attr.type_list(1),
    infer=_save,
    external="writes checkpoints",
)
restore_v2_op = stateful_op(
    "RestoreV2",
    "prefix: string, tensor_names: string, shape_and_slices: string -> tensors: list(dtypes)",
    "Restores tensors, or slices of them, from a checkpoint.",
    dtypes=attr.type_list(1),
    infer=_restore,
    external="reads checkpoints",
)
merge_v2_checkpoints_op = stateful_op(
    "MergeV2Checkpoints",
    "checkpoint_prefixes: string, destination_prefix: string ->",
    "Merges several checkpoints into one by moving their files.",
    delete_old_dirs=True,
    allow_missing_files=False,
    infer=_merge,
    external="writes checkpoints",
)
sharded_filename_op = nondifferentiable_op(
    "ShardedFilename",
    "basename: string, shard: int32, num_shards: int32 -> filename: string",
    "Returns the name of one shard of a file.",
    host="shard, num_shards",
    infer=_filename,
)
sharded_filespec_op = nondifferentiable_op(
    "ShardedFilespec",
    "basename: string, num_shards: int32 -> filename: string",
    "Returns the pattern that matches the names of all shards of a file.",
    host="num_shards",
    infer=_filename,
)
disable_copy_on_read_op = stateful_op(
    "DisableCopyOnRead",
    "resource: resource ->",
    "Does nothing, since reading a variable for a checkpoint needs no copy; TensorFlow's savers contain it.",
    infer=no_outputs,
)

# Version 1 checkpoints, a single file.

save_op = stateful_op(
    "Save",
    "filename: string, tensor_names: string, data: list(T) ->",
    "Saves tensors to a version 1 checkpoint.",
    T=attr.type_list(1),
    infer=_save_whole,
    external="writes checkpoints",
)
save_slices_op = stateful_op(
    "SaveSlices",
    "filename: string, tensor_names: string, shapes_and_slices: string, data: list(T) ->",
    "Saves tensors, or slices of them, to a version 1 checkpoint.",
    T=attr.type_list(1),
    infer=_save,
    external="writes checkpoints",
)
restore_op = stateful_op(
    "Restore",
    "file_pattern: string, tensor_name: string -> tensor: dt",
    "Restores a tensor from a checkpoint of either version.",
    dt=attr.types(),
    preferred_shard=-1,
    infer=_restore_one,
    external="reads checkpoints",
)
restore_slice_op = stateful_op(
    "RestoreSlice",
    "file_pattern: string, tensor_name: string, shape_and_slice: string -> tensor: dt",
    "Restores a slice of a tensor from a checkpoint of either version.",
    dt=attr.types(),
    preferred_shard=-1,
    infer=_restore_one,
    external="reads checkpoints",
)
