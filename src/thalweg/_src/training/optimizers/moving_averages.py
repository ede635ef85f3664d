"""Moving averages: smoothed copies of variables and tensors, often used for evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import control
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import divide, minimum, pow
from thalweg._src.graph.scopes import (
    GraphKeys,
    add_to_collection,
    colocate_with,
    control_dependencies,
    init_scope,
    name_scope,
)
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.distribution import Mode, current_mode
from thalweg._src.training.variables.slots import create_slot, create_zeros_slot, filled_with, owner_name
from thalweg._src.training.variables.variable_scope import get_variable, get_variable_scope, variable_scope
from thalweg._src.training.variables.variables import (
    Variable,
    global_variables,
    moving_average_variables,
    trainable_variables,
)

_FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


def assign_moving_average(
    variable: Variable, value: TensorLike, decay: TensorLike, zero_debias: bool = True, name: str | None = None
) -> Tensor:
    """Moves a variable towards a value: variable -= (1 - decay) * (variable - value); returns it afterwards.

    With zero_debias, the bias of a variable that started at zero is divided out. In a replica of a strategy, the
    variable moves towards the mean of the replicas' values.
    """
    mode = current_mode()
    if mode is not None and mode.updating is None and getattr(variable, "distribute_strategy", None) is mode.strategy:
        return _assign_in_replicas(mode, variable, value, decay, zero_debias, name)  # type: ignore[no-any-return]
    return _assign(variable, value, decay, zero_debias, name)


def _assign(
    variable: Variable,
    value: TensorLike,
    decay: Any,
    zero_debias: bool,
    name: str | None,
    debiasing: Sequence[Any] = (),
) -> Tensor:
    with name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        require_members("variable", variable, "a variable", "dtype", "assign_sub")
        rate = cast(convert_to_tensor(1.0 - decay, name="decay"), variable.dtype.base_dtype)
        with colocate_with(variable):
            if zero_debias:
                return _assign_debiased(variable, value, rate, scope, debiasing)
            return variable.assign_sub(_difference(variable, value) * rate, name=scope)  # type: ignore[no-any-return]


def _assign_in_replicas(
    mode: Mode, variable: Variable, value: TensorLike, decay: TensorLike, zero_debias: bool, name: str | None
) -> Any:
    """Moves all copies of a variable towards the mean of the replicas' values."""

    def merge(strategy: Any, variable: Variable, value: TensorLike) -> Any:
        mean = strategy.extended.reduce_to("MEAN", value, variable)
        debiasing = _debiasing_variables(variable, [variable]) if zero_debias else []

        def move(copy: Variable, value: TensorLike, *debiasing: Variable) -> Tensor:
            return _assign(copy, value, decay, zero_debias, name, debiasing)

        return strategy.extended.update(variable, move, args=(mean, *debiasing))

    if mode.replica is None:
        return merge(mode.strategy, variable, value)
    return mode.replica.merge_call(merge, args=(variable, value))


def _difference(variable: Variable, value: TensorLike) -> Any:
    return variable.value() - convert_to_tensor(value, dtype=variable.dtype.base_dtype)


def _assign_debiased(
    variable: Variable, value: TensorLike, rate: Tensor, scope: str, debiasing: Sequence[Any]
) -> Tensor:
    biased, local_step = debiasing or _debiasing_variables(variable, [variable, value, rate])
    moved: Any = biased.assign_sub(_difference(biased, value) * rate)
    steps = local_step.assign_add(1)
    with control_dependencies([moved, steps]):
        forgotten: Any = pow(1.0 - rate, steps)
        return variable.assign(moved / (1 - forgotten), name=scope)  # type: ignore[no-any-return]


def _debiasing_variables(variable: Variable, values: Sequence[Any]) -> list[Any]:
    """Returns the average from zero, and the number of its updates."""
    dtype = variable.dtype.base_dtype
    with variable_scope(owner_name(variable), values=values), init_scope():
        return [
            _debiasing_variable("biased", variable.get_shape(), dtype),
            _debiasing_variable("local_step", [], dtype),
        ]


def _debiasing_variable(name: str, shape: ShapeLike, dtype: dtypes.DType) -> Any:
    """Returns a new variable in the current scope, with a numbered name if the name is taken and reuse is off."""
    scope = get_variable_scope()
    unique = name
    if not scope.reuse:
        taken = {owner_name(variable) for variable in global_variables()}
        number = 0
        while f"{scope.name}/{unique}" in taken:
            number += 1
            unique = f"{name}_{number}"
    return get_variable(unique, shape=shape, dtype=dtype, initializer=filled_with(0), trainable=False)


def weighted_moving_average(
    value: TensorLike,
    decay: TensorLike,
    weight: TensorLike,
    truediv: bool = True,
    collections: Sequence[str] | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the weighted moving average of values: the average of value * weight over that of weight."""
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
    value, weight = convert_to_tensor(value), convert_to_tensor(weight)
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        averages = []
        for key, average in (("value_x_weight", value * weight), ("weight", weight)):
            variable = get_variable(
                key,
                shape=average.get_shape(),
                dtype=average.dtype,
                initializer=filled_with(0),
                trainable=False,
                collections=collections,
            )
            averages.append(assign_moving_average(variable, average, decay, zero_debias=False))
        return divide(averages[0], averages[1], name=scope.name)


@export("train.ExponentialMovingAverage")
class ExponentialMovingAverage:
    """Maintains shadow variables: moving averages of variables or tensors.

    Args:
        decay: Part of the average that is kept in each update; near 1.
        zero_debias: Whether the average is corrected for its start at zero.
        name: Suffix of the names of the shadow variables.
    """

    name = ReadOnly[str]("The name of the averages.")

    def __init__(
        self,
        decay: TensorLike,
        num_updates: TensorLike | None = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Any] = {}

    def apply(self, var_list: Iterable[Variable | Tensor] | None = None) -> Operation:
        """Creates missing shadow copies and returns the operation that updates all of them."""
        sources = trainable_variables() if var_list is None else list(var_list)
        debiased = []
        for source in sources:
            if source.dtype.base_dtype not in _FLOATS:
                raise TypeError(
                    f"averages support float16, float32 and float64 only: {source.name!r} is {source.dtype.name}"
                )
            if source not in self._averages:
                with init_scope():
                    average = self._averages[source] = self._shadow(source)
                if self._zero_debias and not isinstance(source, Variable):
                    debiased.append(average)
        with name_scope(self._name) as scope:
            decay = convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                updates = cast(self._num_updates, dtypes.float32, name="num_updates")
                decay = minimum(decay, (1.0 + updates) / (10.0 + updates))
            moves = []
            for source in sources:
                average = self._averages[source]
                zero_debias = any(average is other for other in debiased)
                moves.append(assign_moving_average(average, source, decay, zero_debias))
            return control.group(*moves, name=scope)

    def _shadow(self, source: Variable | Tensor) -> Any:
        if not isinstance(source, Variable):
            if source.is_eager:
                raise TypeError(
                    "tf.train.ExponentialMovingAverage does not support non-Variable tensors when eager execution is "
                    "enabled."
                )
            return create_zeros_slot(source, self._name, colocate_with_primary=False)
        average = create_slot(source, source.initialized_value(), self._name)
        add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, source)
        return average

    def average(self, var: Variable | Tensor) -> Any:
        """Returns the variable that holds the average of a variable or tensor, or None."""
        return self._averages.get(var)

    def average_name(self, var: Variable | Tensor) -> str:
        """Returns the name of the average in a checkpoint, whether or not this graph has it."""
        if var in self._averages:
            return str(self._averages[var]._shared_name)
        return get_default_graph().unique_name(f"{owner_name(var)}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Iterable[Variable] | None = None) -> dict[str, Any]:
        """Returns a map from names to variables for a Saver that restores the averages into their variables."""
        if moving_avg_variables is None:
            moving_avg_variables = trainable_variables() + moving_average_variables()
        averaged = dict.fromkeys(moving_avg_variables)
        names = {self.average_name(variable): variable for variable in averaged}
        taken = {variable.name for variable in averaged}
        for variable in global_variables():
            if variable.name not in taken and owner_name(variable) not in names:
                names[owner_name(variable)] = variable
        return names
