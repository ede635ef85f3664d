"""Sequential consistency of variables that several workers read and update."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thalweg._src.export import export
from thalweg._src.graph.consistency import LOCK_DEVICE
from thalweg._src.optimizers.optimizer import flat_variables
from thalweg._src.variables.variables import Variable


@export("train.experimental.sequential_consistency")
def sequential_consistency(var_list: Iterable[Any]) -> None:
    """Makes reads and updates of variables sequentially consistent over all steps of all workers.

    Without it, a step that reads several variables while others update them may see some before and some after an
    update, and the updates of two steps may be applied in another order to each variable. With it, the reads of a step
    see one state of all these variables, and the updates of a step are applied to all of them at once. Between its
    reads and its updates other steps may update: training stays asynchronous.

    All workers must pass the same variables, before they run a step.
    """
    variables = list(flat_variables(var_list))
    for variable in variables:
        if not isinstance(variable, Variable):
            raise TypeError(f"var_list: expected variables, received {variable!r}")
    beside = min(variables, key=lambda variable: variable.name).device
    for variable in variables:
        variable.op.attrs[LOCK_DEVICE] = beside
        variable.graph._changed()
