"""The graph of a Saver that writes checkpoints of format V1."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base import dtypes
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.checkpoint import save_slices_op, sharded_filename_op, sharded_filespec_op
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.scopes import control_dependencies, device
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.checkpoint.saver_builder import SaveableObject, SaverBuilder


class TableSaverBuilder(SaverBuilder):
    """Saves to a single file, or to one file per device; restoring is inherited."""

    def save_op(self, filename_tensor: Tensor, saveables: Sequence[SaveableObject]) -> Operation:
        specs = [spec for saveable in saveables for spec in saveable.specs]
        values = [convert_to_tensor(spec.tensor) for spec in specs]
        names, slices = [spec.name for spec in specs], [spec.slice_spec for spec in specs]
        return save_slices_op.operation(filename_tensor, names, slices, values)

    def _add_sharded_save(self, prefix: Tensor, per_device: Sequence[tuple[str, list[SaveableObject]]]) -> Tensor:
        count = constant(len(per_device), dtypes.int32, name="num_shards")
        writes = []
        for shard, (place, saveables) in enumerate(per_device):
            with device(place):
                writes.append(self._add_save(sharded_filename_op(prefix, shard, count), saveables).op)
        with control_dependencies(writes):
            return sharded_filespec_op(prefix, count)
