"""Trust in MetaGraphs: what one of them may reach outside of its graph, apart from its own checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thalweg._src.base.formats.graph_messages import message_class
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.graph.trust import RefusedOpsError, ancestors, external_nodes, refuse


def require_trusted(message: Any, variables: tuple[str, ...], trusted: bool | None) -> None:
    """Raises RefusedOpsError for what a MetaGraph may not contain; True allows everything.

    By default it may not write files. It may contain operations that write checkpoints, which any graph with a Saver
    does, but nothing that it names (variables, signatures, collections, the restore operation) may depend on them.
    False refuses all that reaches outside, apart from what its Savers run.
    """
    if trusted:
        return
    graph_def = message.graph_def
    if trusted is None:
        refuse(graph_def, ("writes files",))
    else:
        savers = [name for saver in _savers(message) for name in (saver.save_tensor_name, saver.restore_op_name)]
        checkpoints = {name for name, _, reach in external_nodes(graph_def) if reach.endswith(" checkpoints")}
        refuse(graph_def, allowed=checkpoints & ancestors(graph_def, savers))
    started = ancestors(graph_def, _named(message, variables))
    writes = [entry for entry in external_nodes(graph_def) if entry[2] == "writes checkpoints" and entry[0] in started]
    if writes:
        raise RefusedOpsError(writes)


def _savers(message: Any) -> list[Any]:
    """Returns the SaverDefs of a MetaGraph."""
    saver_type = type(message.saver_def)
    return [message.saver_def, *_parsed(message, GraphKeys.SAVERS, saver_type)]


def _parsed(message: Any, key: str, kind: Any) -> Iterator[Any]:
    """Yields the members of a collection that are messages of a type; others are not imported either."""
    from google.protobuf.message import DecodeError

    if key not in message.collection_def:
        return
    for value in message.collection_def[key].bytes_list.value:
        try:
            yield kind.FromString(value)
        except DecodeError:
            continue


def _named(message: Any, variables: tuple[str, ...]) -> Iterator[str]:
    """Yields the names of what is run or offered by a MetaGraph itself."""
    from tensorboard.compat.proto.variable_pb2 import VariableDef

    for saver in _savers(message):
        yield saver.restore_op_name
    for collection in message.collection_def.values():
        yield from collection.node_list.value
    for signature in message.signature_def.values():
        for info in (*signature.inputs.values(), *signature.outputs.values()):
            coo = info.coo_sparse
            yield from (info.name, coo.values_tensor_name, coo.indices_tensor_name, coo.dense_shape_tensor_name)
    for key in variables:
        for variable in _parsed(message, key, VariableDef):
            yield from (variable.variable_name, variable.initial_value_name, variable.initializer_name)
            yield variable.snapshot_name
    for runner in _parsed(message, GraphKeys.QUEUE_RUNNERS, message_class("QueueRunnerDef")):
        yield from (runner.queue_name, *runner.enqueue_op_name, runner.close_op_name, runner.cancel_op_name)
