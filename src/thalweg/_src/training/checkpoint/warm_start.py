"""Warm starts: variables initialized from an earlier model, whose vocabularies may have been different."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from thalweg._src.base import dtypes, logging
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.reshape import reshape, zeros
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.ops.state import assign_variable_op
from thalweg._src.graph.ops.vocab_remapping import generate_vocab_remapping_op, load_and_remap_matrix_op
from thalweg._src.graph.scopes import device, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.checkpoint.object_graph import GRAPH_KEY, names_to_keys, parse_graph
from thalweg._src.training.checkpoint.reader import init_from_checkpoint, load_checkpoint, prefix_of
from thalweg._src.training.variables.partitions import PartitionedVariable
from thalweg._src.training.variables.variables import Variable, global_variables, trainable_variables


class _Vocabularies(NamedTuple):
    new_vocab: Any
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: Any
    old_vocab_size: int = -1
    backup_initializer: Any = None
    axis: int = 0


@export("train.VocabInfo")
class VocabInfo(_Vocabularies):
    """The vocabularies of a variable in the new and the earlier model, along its rows (axis 0) or columns (axis 1)."""

    __slots__ = ()

    def __new__(
        cls,
        new_vocab: PathLike,
        new_vocab_size: int,
        num_oov_buckets: int,
        old_vocab: PathLike,
        old_vocab_size: int = -1,
        backup_initializer: Callable[..., Any] | None = None,
        axis: int = 0,
    ) -> VocabInfo:
        if axis not in (0, 1):
            raise ValueError(f"The only supported values for the axis argument are 0 and 1. Provided axis: {axis}")
        return super().__new__(
            cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab, old_vocab_size, backup_initializer, axis
        )


@export("train.warm_start")
def warm_start(
    ckpt_to_initialize_from: PathLike,
    vars_to_warm_start: str | Sequence[Any] | None = ".*",
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Initializes variables from a checkpoint of an earlier model."""
    infos, names = dict(var_name_to_vocab_info or {}), dict(var_name_to_prev_var_name or {})
    grouped = _grouped(vars_to_warm_start)
    prefix = prefix_of(ckpt_to_initialize_from)
    if not names:
        names = _keys_of_objects(prefix, grouped)
    for what, entries in (("var_name_to_prev_var_name", names), ("var_name_to_vocab_info", infos)):
        unused = sorted(set(entries) - set(grouped))
        if unused:
            raise ValueError(f"{what} names variables that are not among {sorted(grouped)}: {unused}")
    for name, variables in grouped.items():
        source = names.get(name, name)
        if name in infos:
            _start_with_vocabulary(prefix, source, variables, infos[name])
        elif vars_to_warm_start:
            init_from_checkpoint(prefix, {source: variables[0] if len(variables) == 1 else variables})
    logging.info("Warm-started %d variables.", len(infos) if not vars_to_warm_start else len(grouped))


def _grouped(chosen: str | Sequence[Any] | None) -> dict[str, list[Any]]:
    """Returns variables by their names in a checkpoint, with the partitions of a variable together."""
    if chosen is None or isinstance(chosen, str):
        variables = trainable_variables(chosen)
    elif isinstance(chosen, list) and all(isinstance(item, str) for item in chosen):
        variables = [variable for name in chosen for variable in global_variables(name)]
    elif isinstance(chosen, list) and all(isinstance(item, Variable | PartitionedVariable | list) for item in chosen):
        variables = [partition for item in chosen for partition in ([item] if isinstance(item, Variable) else item)]
    else:
        raise ValueError(f"vars_to_warm_start: expected a string, or a list of strings or variables, not {chosen!r}")
    grouped: dict[str, list[Any]] = {}
    for variable in variables:
        info = variable._get_save_slice_info()
        grouped.setdefault(variable.op.name if info is None else info.full_name, []).append(variable)
    return grouped


def _keys_of_objects(prefix: str, grouped: dict[str, list[Any]]) -> dict[str, str]:
    """Returns the keys of variables in an object-based checkpoint; empty for a name-based one."""
    reader = load_checkpoint(prefix)
    if not reader.has_tensor(GRAPH_KEY):
        return {}
    keys = names_to_keys(parse_graph(reader.get_tensor(GRAPH_KEY), prefix))
    missing = sorted(set(grouped) - set(keys))
    if missing:
        raise ValueError(f"the object-based checkpoint {prefix} has no values for {missing}")
    return {name: keys[name] for name in grouped}


# -- vocabularies -----------------------------------------------------------------------------------------------------


def _start_with_vocabulary(prefix: str, source: str, variables: list[Any], info: VocabInfo) -> None:
    for variable in variables:
        shape = variable.get_shape().as_list()
        if len(shape) != 2:
            raise ValueError(f"{variable.name} has shape {shape}: only matrices have a vocabulary along an axis")
        slice_info = variable._get_save_slice_info()
        if slice_info is not None and any(slice_info.var_offset[1:]):
            raise ValueError(f"{variable.name}: a matrix with a vocabulary may be partitioned only by rows")
        offset = 0 if slice_info is None else slice_info.var_offset[0]
        graph = variable.graph
        with graph.as_default(), graph.control_dependencies(None), name_scope(f"{variable.op.name}/warm_start"):
            with device(None), device("/cpu:0"):
                value = _remapped(prefix, source, shape, offset, info)
            value.set_shape(shape)
            with variable._at_handle():
                variable._initializer = assign_variable_op.operation(variable._handle, value)
        variable._initial_value = value


def _remapped(prefix: str, source: str, shape: list[int], offset: int, info: VocabInfo) -> Tensor:
    """Returns the saved matrix in the order of the new vocabulary, then the rows for out-of-vocabulary entries."""
    fill = info.backup_initializer or (lambda shape, dtype=dtypes.float32: zeros(shape, dtype))
    expected = info.new_vocab_size + info.num_oov_buckets
    if info.axis == 0:
        row_count = max(0, min(shape[0], info.new_vocab_size - offset))
        rows, present = _remapping(info, offset, row_count)
        matrix = _loaded(
            prefix, source, rows, constant([], dtypes.int64), row_count, shape[1], present * shape[1], fill
        )
        rest = [shape[0] - row_count, shape[1]]
    else:
        if shape[1] != expected:
            raise ValueError(
                f"the matrix has {shape[1]} columns, its vocabulary with out-of-vocabulary entries {expected}"
            )
        columns, present = _remapping(info, 0, info.new_vocab_size)
        rows = range_of(constant(offset, dtypes.int64), constant(offset + shape[0], dtypes.int64))
        size = info.new_vocab_size
        matrix = _loaded(prefix, source, rows, columns, shape[0], size, present * shape[0], fill)
        rest = [shape[0], shape[1] - size]
    return concat([matrix, fill(rest, dtype=dtypes.float32)], info.axis) if 0 not in rest else matrix


def _remapping(info: VocabInfo, offset: int, count: int) -> tuple[Tensor, Tensor]:
    remapping, present = generate_vocab_remapping_op.many(
        info.new_vocab,
        info.old_vocab,
        new_vocab_offset=offset if count else 0,
        num_new_vocab=count,
        old_vocab_size=info.old_vocab_size,
    )
    return remapping, present


def _loaded(
    prefix: str,
    source: str,
    rows: Tensor,
    columns: Tensor,
    height: int,
    width: int,
    present: Tensor,
    fill: Callable[..., Tensor],
) -> Tensor:
    missing = constant(height * width) - present
    values = reshape(fill(stack([missing, 1]), dtype=dtypes.float32), [-1])
    return load_and_remap_matrix_op(prefix, source, rows, columns, values, num_rows=height, num_cols=width)
