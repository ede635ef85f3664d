"""Scaffold: the operations that a session needs to start, save and report: given, found in collections, or created."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.summary import merge_summary
from thalweg._src.graph.scopes import GraphKeys, add_to_collection, get_collection, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.checkpoint.saver import Saver
from thalweg._src.training.variables.assign import report_uninitialized_variables
from thalweg._src.training.variables.variables import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
)

_SAVED_MODEL_INITIALIZERS = "saved_model_initializers"


@export("train.Scaffold")
class Scaffold:
    """Takes what is not given from the collections of the graph, or creates it, when it is finalized."""

    init_fn = ReadOnly[Callable[[Any], Any] | None]("The function that is called after `init_op`.")
    init_op = ReadOnly[Any]("The operation that initializes the model.")
    ready_op = ReadOnly[Any]("The operation that lists what is not initialized.")
    ready_for_local_init_op = ReadOnly[Any]("The operation that lists what must be initialized before `local_init_op`.")
    local_init_op = ReadOnly[Any]("The operation that initializes local variables.")
    local_init_feed_dict = ReadOnly[dict[Any, Any] | None]("The feed dictionary of `local_init_op`.")
    summary_op = ReadOnly[Any]("The operation that merges all summaries.")
    saver = ReadOnly[Any]("The Saver of the model.")
    init_feed_dict = ReadOnly[dict[Any, Any] | None]("The feed dictionary of `init_op`.")

    def __init__(
        self,
        init_op: Operation | Tensor | None = None,
        init_feed_dict: dict[Any, Any] | None = None,
        init_fn: Callable[..., Any] | None = None,
        ready_op: Operation | Tensor | None = None,
        ready_for_local_init_op: Operation | Tensor | None = None,
        local_init_op: Operation | Tensor | None = None,
        summary_op: Operation | Tensor | None = None,
        saver: Saver | None = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: dict[Any, Any] | None = None,
    ) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")

        def chosen(argument: Any, name: str) -> Any:
            return argument if argument is not None or copy_from_scaffold is None else getattr(copy_from_scaffold, name)

        self._init_op = chosen(init_op, "_init_op")
        self._init_feed_dict = chosen(init_feed_dict, "_init_feed_dict")
        self._user_init_fn = chosen(init_fn, "_user_init_fn")
        self._ready_op = chosen(ready_op, "_ready_op")
        self._ready_for_local_init_op = chosen(ready_for_local_init_op, "_ready_for_local_init_op")
        self._local_init_op = chosen(local_init_op, "_local_init_op")
        self._local_init_feed_dict = chosen(local_init_feed_dict, "_local_init_feed_dict")
        self._summary_op = chosen(summary_op, "_summary_op")
        self._saver = chosen(saver, "_saver")
        self._init_fn: Callable[[Any], Any] | None = None
        if self._user_init_fn is not None:
            self._init_fn = lambda sess: self._user_init_fn(self, sess)

    def finalize(self) -> Scaffold:
        """Completes the scaffold and finalizes the default graph."""
        if self._init_op is None:
            self._init_op = Scaffold.get_or_default("init_op", GraphKeys.INIT_OP, _default_init_op)
        if self._ready_op is None:
            self._ready_op = Scaffold.get_or_default("ready_op", GraphKeys.READY_OP, report_uninitialized_variables)
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = Scaffold.get_or_default(
                "ready_for_local_init_op",
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: report_uninitialized_variables(global_variables()),
            )
        if self._local_init_op is None:
            self._local_init_op = Scaffold.get_or_default(
                "local_init_op", GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op
            )
        if self._summary_op is None:
            self._summary_op = Scaffold.get_or_default("summary_op", GraphKeys.SUMMARY_OP, merged_summaries)
        if self._saver is None:
            self._saver = saver_or_default()
        self._saver.build()
        get_default_graph().finalize()
        logging.info("Graph was finalized.")
        return self

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """Returns the only element of a collection, or creates and adds one."""
        elements = get_collection(collection_key)
        if len(elements) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which one to use by '
                f"passing it to the tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to use)"
            )
        if elements:
            return elements[0]
        element = default_constructor()
        if element is not None:
            add_to_collection(collection_key, element)
        return element

    @staticmethod
    def default_local_init_op() -> Operation:
        """Returns an operation that initializes local variables and tables."""
        return group(
            local_variables_initializer(),
            group(*get_collection(GraphKeys.TABLE_INITIALIZERS), name="init_all_tables"),
            *get_collection(_SAVED_MODEL_INITIALIZERS),
        )


def _default_init_op() -> Operation:
    return group(global_variables_initializer(), *get_collection(_SAVED_MODEL_INITIALIZERS))


def merged_summaries() -> Tensor | None:
    """Returns the merged summary of the graph; None if there is none."""
    summaries = get_collection(GraphKeys.SUMMARIES)
    if not summaries:
        return None
    with name_scope(None, "Merge", summaries):
        return merge_summary(summaries)


def saver_or_default() -> Any:
    """Returns the graph's only Saver, or adds one that saves all variables."""
    savers = get_collection(GraphKeys.SAVERS)
    if len(savers) > 1:
        raise RuntimeError(
            f"More than one item in collection {GraphKeys.SAVERS}. "
            "Please indicate which one to use by passing it to the constructor."
        )
    if savers:
        return savers[0]
    saver = Saver(sharded=True, allow_empty=True)
    add_to_collection(GraphKeys.SAVERS, saver)
    return saver
