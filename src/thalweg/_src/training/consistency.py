"""Consistency of variables that several workers read and update."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.consistency import LOCK_DEVICE, ONE_STATE
from thalweg._src.training.optimizers.optimizer import flat_variables
from thalweg._src.training.variables.variables import Variable


@export("train.experimental.atomic_updates")
def atomic_updates(var_list: Iterable[Any]) -> None:
    """Makes the updates that a step makes to variables atomic: all of them are applied at once, or none is.

    If the step fails at any task, or a task or a connection is lost at any moment, no update stays without the others.
    No step sees updates that may yet be undone. A step that only reads, as one that saves a checkpoint, sees one state
    of all these variables; one that updates them, too, may see one variable before and another one after an update.

    All workers must pass the same variables, before they run a step. Variables of several calls are one set.
    """
    make_consistent(var_list, one_state=False)


@export("train.experimental.sequential_consistency")
def sequential_consistency(var_list: Iterable[Any]) -> None:
    """Makes reads and updates of variables sequentially consistent over all steps of all workers.

    Without it, a step that reads several variables while others update them may see some before and some after an
    update, and the updates of two steps may be applied in another order to each variable. With it, the reads of a step
    see one state of all these variables, and its updates are atomic, as `atomic_updates` makes them. Between its reads
    and its updates other steps may update: training stays asynchronous.

    All workers must pass the same variables, before they run a step. Variables of several calls are one set.
    """
    make_consistent(var_list, one_state=True)


def make_consistent(var_list: Iterable[Any], one_state: bool) -> None:
    """Marks variables whose updates are atomic; `one_state`: and whose reads see one state."""
    variables = list(flat_variables(var_list))
    for variable in variables:
        if not isinstance(variable, Variable):
            raise TypeError(f"var_list: expected variables, received {variable!r}")
    for graph in {variable.graph for variable in variables}:
        for variable in variables:
            if variable.graph is graph:
                variable.op.attrs[ONE_STATE] = one_state or variable.op.attrs.get(ONE_STATE, False)
                variable.op.attrs[LOCK_DEVICE] = variable.op.device
        handles = [op for op in graph.get_operations() if LOCK_DEVICE in op.attrs]
        beside = min(handles, key=lambda handle: handle.name).device
        for handle in handles:
            handle.attrs[LOCK_DEVICE] = beside
        graph._changed()
