"""Metric: the base class of metrics; sums and means of the values of batches."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, TensorShape
from thalweg._src.graph.autograph.convert import convert
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.bincount import remove_squeezable_dimensions
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import abs as absolute, div_no_nan, multiply, subtract
from thalweg._src.graph.ops.reduction import reduce_mean, reduce_sum
from thalweg._src.graph.ops.reshape import ones_like, size
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.settings import floatx
from thalweg._src.keras.backend.values import batch_set_value, eval as value_of
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.losses.weighting import graph_of, matched
from thalweg._src.keras.serialization import Identifier
from thalweg._src.runtime.function.function import function
from thalweg._src.training.nn.metrics.state import across_replicas
from thalweg._src.training.nn.weights import broadcast_weights, require_compatible, with_rank_of
from thalweg._src.training.variables.replication import VariableAggregation, VariableSynchronization
from thalweg._src.training.variables.variables import Variable


@export("keras.metrics.Metric")
class Metric(Layer):
    """The base class of metrics; a subclass updates its variables in `update_state` and computes in `result`.

    In a graph, `update_state` returns one operation that does all updates.
    """

    _is_metric = True
    _object_identifier = "_tf_keras_metric"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        metric = super().__new__(cls)
        metric.update_state = types.MethodType(_update_state, metric)
        metric.result = types.MethodType(_result, metric)
        return metric

    def __init__(self, name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=floatx() if dtype is None else dtype, **kwargs)
        self.stateful = True
        self.built = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Updates the variables, and returns the result after that."""
        with graph_of(*args, *kwargs.values()):
            update = self.update_state(*args, **kwargs)
            with contextlib.nullcontext() if update is None else control_dependencies([update]):
                result = self.result()
        result._metric_obj = self
        return result

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Updates the variables by the values of a batch."""
        raise NotImplementedError(f"{type(self).__name__} defines no update_state")

    def result(self) -> Any:
        """Returns the value of the metric over all batches since the last reset."""
        raise NotImplementedError(f"{type(self).__name__} defines no result")

    def reset_states(self) -> None:
        """Sets all variables to 0."""
        batch_set_value([(variable, np.zeros(variable.shape.as_list())) for variable in self.variables])

    def add_weight(  # type: ignore[override]
        self,
        name: str,
        shape: ShapeLike = (),
        aggregation: VariableAggregation = VariableAggregation.SUM,
        synchronization: VariableSynchronization = VariableSynchronization.ON_READ,
        initializer: Identifier = None,
        dtype: DTypeLike | None = None,
    ) -> Any:
        """Returns a new variable of the metric, which is not trained and in no collection."""
        return super().add_weight(
            name=name,
            shape=shape,
            dtype=dtype or self._dtype,
            trainable=False,
            initializer=initializer,
            collections=[],
            synchronization=synchronization,
            aggregation=aggregation,
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"name": self.name, "dtype": self.dtype}

    def _cast(self, *values: Any) -> list[Tensor]:
        """Returns values as tensors of the type of the metric."""
        return [cast(value, dtypes.as_dtype(self._dtype)) for value in values]


Metric.__new__.__signature__ = inspect.signature(Metric.__init__)  # type: ignore[attr-defined]  # for help()


def _update_state(metric: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls the method of the class; in graphs, what it does becomes one operation."""
    update: Callable[..., Any] = type(metric).update_state
    is_own = update.__module__.startswith("thalweg.")
    with graph_of(*args, *kwargs.values()):
        graph = get_default_graph()
        if not is_own and not graph.executes:
            update = convert(update)
            if not graph.captures:  # a function's body runs assignments in their order by itself
                update = functools.partial(_as_function, update)
        outcome = update(metric, *args, **kwargs)
        if graph.executes or outcome is None:
            return outcome
        operation = outcome if isinstance(outcome, Operation) else group(outcome)
        if not graph.captures:
            metric.add_update(operation)
        return operation


def _as_function(update: Callable[..., Any], *args: Any, **kwargs: Any) -> Operation:
    """Calls a method of a user's class as the body of a function, where its assignments run in their order."""

    def run() -> Tensor:
        update(*args, **kwargs)
        return constant(0.0)  # which waits for the assignments

    return function(run, autograph=False)().op  # type: ignore[no-any-return]


def _result(metric: Any) -> Any:
    """Calls the method of the class; in a replica of a strategy, for the totals of all replicas."""
    return across_replicas(lambda: identity(type(metric).result(metric)))


# -- sums and means ---------------------------------------------------------------------------------------------------

_SUM, _SUM_OVER_BATCH_SIZE, _WEIGHTED_MEAN = "sum", "sum_over_batch_size", "weighted_mean"


class Reduce(Metric):
    """The sum, or a mean, of all values of all batches."""

    def __init__(self, reduction: str, name: str | None, dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.reduction = reduction
        self.total = self.add_weight("total", initializer="zeros")
        if reduction != _SUM:
            self.count = self.add_weight("count", initializer="zeros")

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Adds the values of a batch, multiplied by their weights."""
        (values,) = self._cast(values)
        if sample_weight is not None:
            (factors,) = self._cast(sample_weight)
            values, factors = _weighted(values, factors, reduce_sum if self.reduction == _SUM else reduce_mean)
        updates = [self.total.assign_add(reduce_sum(values))]
        if self.reduction != _SUM:
            is_counted = sample_weight is None or self.reduction == _SUM_OVER_BATCH_SIZE
            number = cast(size(values), values.dtype) if is_counted else reduce_sum(factors)
            updates.append(self.count.assign_add(number))
        return group(*updates)

    def result(self) -> Any:
        """Returns the sum or the mean; a mean of no values is 0."""
        return self.total.value() if self.reduction == _SUM else div_no_nan(self.total, self.count)


def _weighted(values: Tensor, weights: Tensor, reduce: Callable[..., Tensor]) -> tuple[Tensor, Tensor]:
    """Returns the weighted values and the weights, of one shape; values are reduced where weights lack dimensions."""
    weight_dims, other = weights.dims, values.dims
    if weight_dims is None or other is None or len(weight_dims) <= len(other) or weight_dims[-1] in (1, None):
        weights = with_rank_of(weights, values)
    try:
        weights = broadcast_weights(weights, values)
    except ValueError:
        if weights.dims is None or other is None:
            raise
        values = reduce(values, list(range(len(weights.dims), len(other))))
    return multiply(values, weights), weights


@export("keras.metrics.Sum")
class Sum(Reduce):
    """The weighted sum of values."""

    def __init__(self, name: str | None = "sum", dtype: DTypeLike | None = None) -> None:
        super().__init__(_SUM, name, dtype)


@export("keras.metrics.Mean")
class Mean(Reduce):
    """The weighted mean of values."""

    def __init__(self, name: str | None = "mean", dtype: DTypeLike | None = None) -> None:
        super().__init__(_WEIGHTED_MEAN, name, dtype)


class SumOverBatchSize(Reduce):
    """The weighted sum of values, divided by their number."""

    def __init__(self, name: str | None = "sum_over_batch_size", dtype: DTypeLike | None = None) -> None:
        super().__init__(_SUM_OVER_BATCH_SIZE, name, dtype)


@export("keras.metrics.MeanRelativeError")
class MeanRelativeError(Mean):
    """The weighted mean of |y_true - y_pred| / normalizer, 0 where the normalizer is 0."""

    def __init__(self, normalizer: TensorLike, name: str | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)
        (self.normalizer,) = self._cast(normalizer)

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Any:
        """Adds the relative errors of a batch."""
        y_true, y_pred = matched(*self._cast(y_true, y_pred))
        y_pred, normalizer = remove_squeezable_dimensions(y_pred, self.normalizer)
        require_compatible(y_pred, y_true)
        return super().update_state(div_no_nan(absolute(subtract(y_true, y_pred)), normalizer), sample_weight)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "normalizer": value_of(self.normalizer)}


# -- functions of targets and predictions -----------------------------------------------------------------------------


class _OfFunction(Reduce):
    """A mean of what a function of targets and predictions returns."""

    _fn: Callable[..., Any]
    _fn_arguments: dict[str, Any]

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Any:
        """Adds what the function returns for a batch."""
        values = self._fn(*matched(*self._cast(y_true, y_pred)), **self._fn_arguments)
        return super().update_state(values, sample_weight)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        items = self._fn_arguments.items()
        arguments = {key: value_of(value) if isinstance(value, Tensor | Variable) else value for key, value in items}
        return {**super().get_config(), **arguments}


class MeanMetricWrapper(_OfFunction, Mean):
    """The weighted mean of what a function of targets and predictions returns."""

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self._fn = fn
        self._fn_arguments = kwargs


class SumOverBatchSizeMetricWrapper(_OfFunction, SumOverBatchSize):
    """The weighted sum of what a function of targets and predictions returns, divided by the number of values."""

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self._fn = fn
        self._fn_arguments = kwargs


# -- means of each element --------------------------------------------------------------------------------------------


@export("keras.metrics.MeanTensor")
class MeanTensor(Metric):
    """The weighted mean of each element over all batches; the first update creates the variables."""

    def __init__(self, name: str | None = "mean_tensor", dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self._shape: TensorShape | None = None
        self._total: Any = None
        self._count: Any = None
        self.built = False

    @property
    def total(self) -> Any:
        """The variable with the sum of the weighted values; None before the first update."""
        return self._total

    @property
    def count(self) -> Any:
        """The variable with the sum of the weights; None before the first update."""
        return self._count

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Adds the values of a batch, multiplied by their weights."""
        (tensor,) = self._cast(values)
        self._require_shape(tensor.shape)
        number = ones_like(tensor)
        if sample_weight is not None:
            (factors,) = self._cast(sample_weight)
            tensor, factors = _weighted(tensor, factors, reduce_mean)
            number = multiply(number, factors)
        return group(self._total.assign_add(tensor), self._count.assign_add(number))

    def _require_shape(self, shape: ShapeLike) -> None:
        if self._shape is None:
            self._shape = TensorShape(shape)
            self._total, self._count = (
                self.add_weight(key, shape=self._shape, initializer="zeros") for key in ("total", "count")
            )
            self.built = True
        elif not self._shape.is_compatible_with(shape):
            raise ValueError(
                f"MeanTensor: expected values of the shape {self._shape} of the first update, received {shape}"
            )

    def result(self) -> Any:
        """Returns the mean of each element, 0 where the weights sum to 0."""
        if not self.built:
            raise ValueError("MeanTensor has no result before the first update: call it, or `update_state`.")
        return div_no_nan(self._total, self._count)
