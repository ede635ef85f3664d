"""Checkpoints written and read in the graph, and the names of their shards."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.ops.shape_functions import no_outputs, same_dimension, vector_size
from thalweg._src.ops.strings import require_scalar
from thalweg._src.shapes import Shape


def _named(c: Inference, count: int, lists: Sequence[int] = (1, 2)) -> None:
    """Requires a prefix, and a name and a slice for each of so many tensors."""
    require_scalar(c, 0)
    for index in lists:
        name = c.definition.inputs[index].name
        same_dimension(
            vector_size(c, index), count, f"{name} and tensors differ in number", f"{count} {name}, one a tensor"
        )


def _save(c: Inference) -> Sequence[Shape]:
    _named(c, len(c.shapes) - 3)
    return []


def _save_whole(c: Inference) -> Sequence[Shape]:
    _named(c, len(c.shapes) - 2, (1,))
    return []


def _restore(c: Inference) -> Sequence[Shape]:
    """A slice has the shape that it names; a whole tensor can have any."""
    _named(c, c.num_outputs)
    specs = c.partial(2)
    return [None] * c.num_outputs if specs is None else [_sliced_shape(spec) for spec in specs]


def _restore_one(c: Inference) -> Sequence[Shape]:
    for index in range(len(c.shapes)):
        require_scalar(c, index)
    spec = c.partial(2) if len(c.shapes) > 2 else None
    return [None if spec is None else _sliced_shape(spec.item())]


def _sliced_shape(spec: object) -> Shape:
    """Returns the shape of a slice such as "10 4 0,3:-"; what cannot be read is refused when it is run."""
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
    dtypes=attr.type_list(1),
    stateful=True,
    differentiable=False,
    infer=_save,
    doc="Writes tensors into a checkpoint, which exists from the moment that all of them are on disk.",
)
restore_v2_op = op(
    "RestoreV2",
    "prefix: string, tensor_names: string, shape_and_slices: string -> tensors: list(dtypes)",
    dtypes=attr.type_list(1),
    stateful=True,
    differentiable=False,
    infer=_restore,
    doc="Tensors, or slices of them, from a checkpoint.",
)
merge_v2_checkpoints_op = op(
    "MergeV2Checkpoints",
    "checkpoint_prefixes: string, destination_prefix: string ->",
    delete_old_dirs=True,
    allow_missing_files=False,
    stateful=True,
    differentiable=False,
    infer=_merge,
    doc="Makes one checkpoint of several, whose files it takes over.",
)
sharded_filename_op = op(
    "ShardedFilename",
    "basename: string, shard: int32, num_shards: int32 -> filename: string",
    differentiable=False,
    host="shard, num_shards",
    infer=_filename,
    doc="The name of one shard of a file.",
)
sharded_filespec_op = op(
    "ShardedFilespec",
    "basename: string, num_shards: int32 -> filename: string",
    differentiable=False,
    host="num_shards",
    infer=_filename,
    doc="The pattern that the names of all shards of a file match.",
)
disable_copy_on_read_op = op(
    "DisableCopyOnRead",
    "resource: resource ->",
    stateful=True,
    differentiable=False,
    infer=no_outputs,
    doc="Does nothing: a variable that is read for a checkpoint needs no copy. TensorFlow's savers have it.",
)

# TensorFlow's first form of checkpoints, a single file.

save_op = op(
    "Save",
    "filename: string, tensor_names: string, data: list(T) ->",
    T=attr.type_list(1),
    stateful=True,
    differentiable=False,
    infer=_save_whole,
    doc="Writes tensors into a checkpoint of the first form.",
)
save_slices_op = op(
    "SaveSlices",
    "filename: string, tensor_names: string, shapes_and_slices: string, data: list(T) ->",
    T=attr.type_list(1),
    stateful=True,
    differentiable=False,
    infer=_save,
    doc="Writes tensors, or slices of them, into a checkpoint of the first form.",
)
restore_op = op(
    "Restore",
    "file_pattern: string, tensor_name: string -> tensor: dt",
    dt=attr.types(),
    preferred_shard=-1,
    stateful=True,
    differentiable=False,
    infer=_restore_one,
    doc="A tensor from a checkpoint of either form.",
)
restore_slice_op = op(
    "RestoreSlice",
    "file_pattern: string, tensor_name: string, shape_and_slice: string -> tensor: dt",
    dt=attr.types(),
    preferred_shard=-1,
    stateful=True,
    differentiable=False,
    infer=_restore_one,
    doc="A slice of a tensor from a checkpoint of either form.",
)
