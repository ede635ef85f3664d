"""Metrics as objects: each call adds a batch to their variables, and `result` computes the value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.compat.contrib.summary import summaries
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.check import assert_equal
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.reduction import argmax, reduce_sum
from thalweg._src.graph.ops.reshape import shape, size
from thalweg._src.graph.scopes import GraphKeys, control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.checkpoint.trackable import Child, attributes_of, children_of
from thalweg._src.training.variables.restoration import RestoresChildren
from thalweg._src.training.variables.slots import filled_with
from thalweg._src.training.variables.variable_scope import get_variable, variable_scope

_NOT_IN_SCOPES = re.compile(r"[^A-Za-z0-9.]")
_OWN = frozenset(("_variables",))


@export("contrib.eager.metrics.Metric")
class Metric(RestoresChildren):
    """The base class of metrics; a subclass creates variables in `build` and defines `call` and `result`."""

    name = ReadOnly[str]("The name of the metric.")

    def __init__(self, name: str | None = None, use_global_variables: bool = False) -> None:
        self._name = type(self).__name__ if name is None else name
        self._use_global_variables = use_global_variables
        self._built = False
        self._variables: list[tuple[Any, Any]] = []  # each with its initial value
        with variable_scope(None, _NOT_IN_SCOPES.sub("_", self._name), use_resource=True) as scope:
            self._scope = scope
        self._graph = get_default_graph()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a batch; in a graph, returns the arguments as tensors whose evaluation adds it."""
        if not self._built:
            with self._graph.as_default(), variable_scope(self._scope):
                self.build(*args, **kwargs)
            self._built = True
        if executing_eagerly():
            return self.call(*args, **kwargs)
        graph = get_default_graph()
        before = len(graph.operations)
        result = self.call(*args, **kwargs)
        writes = [operation for operation in graph.operations[before:] if operation.definition.facts.writes]
        with control_dependencies(writes):
            return nest.map_structure(lambda value: identity(convert_to_tensor(value)), result)

    @property
    def variables(self) -> list[Any]:
        """The variables of the metric, which its first call creates."""
        return [variable for variable, _ in self._variables]

    def init_variables(self) -> Any:
        """Starts again with no batches; in a graph, returns the operation that does."""
        if executing_eagerly():
            for variable, value in self._variables:
                variable.assign(value)
            return None
        return group(*[variable.initializer for variable, _ in self._variables])

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Creates the variables, given the arguments of the first call."""
        raise NotImplementedError("Metrics must define a build() member function")

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a batch, and returns the arguments."""
        raise NotImplementedError("Metrics must define a call() member function")

    def result(self) -> Any:
        """Returns the value of the metric."""
        raise NotImplementedError("Metrics must define a result() member function")

    def value(self) -> Tensor | Callable[[], Tensor]:
        """Returns the value of the metric, in eager execution a function that computes it."""
        return self.result if executing_eagerly() else self.result()

    def add_variable(
        self,
        name: str,
        shape: ShapeLike = None,
        dtype: DTypeLike | None = None,
        initializer: TensorLike | Callable[..., Any] | None = None,
    ) -> Any:
        """Creates a variable; only `build` may call it."""
        if self._built:
            raise RuntimeError("Can't call add_variable() except in build().")
        collection = GraphKeys.GLOBAL_VARIABLES if self._use_global_variables else GraphKeys.LOCAL_VARIABLES
        variable = get_variable(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=False,
            collections=[collection, GraphKeys.METRIC_VARIABLES],
            use_resource=True,
        )
        self._variables.append((variable, variable.value() if executing_eagerly() else None))
        return variable


@children_of.register(Metric)
def _children(metric: Metric) -> Iterator[Child]:
    return attributes_of(metric, without=_OWN)


@export("contrib.eager.metrics.Mean")
class Mean(Metric):
    """The weighted mean of all elements over all batches."""

    def __init__(
        self, name: str | None = None, dtype: DTypeLike = dtypes.float64, use_global_variables: bool = False
    ) -> None:
        super().__init__(name=name, use_global_variables=use_global_variables)
        self.dtype = dtypes.as_dtype(dtype)

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Creates numerator and denominator."""
        self.numer = self.add_variable("numer", shape=(), dtype=self.dtype, initializer=filled_with(0))
        self.denom = self.add_variable("denom", shape=(), dtype=self.dtype, initializer=filled_with(0))

    def call(self, values: TensorLike, weights: TensorLike | None = None) -> Any:
        """Adds values, each with weight 1 or with the given one."""
        if weights is None:
            self.denom.assign_add(cast(size(values), self.dtype))
            self.numer.assign_add(cast(reduce_sum(values), self.dtype))
            return values
        weights = cast(weights, self.dtype)
        self.denom.assign_add(reduce_sum(weights))
        self.numer.assign_add(reduce_sum(cast(values, self.dtype) * weights))
        return values, weights

    def result(self, write_summary: bool = True) -> Tensor:
        """Returns the mean, which is also written as a summary if there is a writer."""
        mean: Tensor = self.numer / self.denom
        if write_summary:
            summaries.scalar(name=self.name, tensor=mean)
        return mean


class _Matches(Mean):
    """The fraction of predictions that match their labels."""

    def __init__(self, name: str | None = None, dtype: DTypeLike = dtypes.float64) -> None:
        super().__init__(name=name, dtype=dtype)

    def call(  # type: ignore[override]
        self, labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None
    ) -> Any:
        """Adds the matches of predictions with their labels."""
        matches = cast(self._matches(convert_to_tensor(labels), convert_to_tensor(predictions)), self.dtype)
        super().call(matches, weights=weights)
        return (labels, predictions) if weights is None else (labels, predictions, weights)

    def _matches(self, labels: Tensor, predictions: Tensor) -> Tensor:
        raise NotImplementedError

    def _require_same_shape(self, labels: Tensor, predictions: Tensor) -> None:
        message = "Shapes of labels and predictions are unequal"
        with control_dependencies([assert_equal(shape(labels), shape(predictions), message=message)]):
            pass


@export("contrib.eager.metrics.Accuracy")
class Accuracy(_Matches):
    """The fraction of predictions that equal their labels."""

    def _matches(self, labels: Tensor, predictions: Tensor) -> Tensor:
        self._require_same_shape(labels, predictions)
        return equal(labels, predictions)


@export("contrib.eager.metrics.CategoricalAccuracy")
class CategoricalAccuracy(_Matches):
    """The fraction of predictions, one score per class, whose highest score is at the label's class.

    labels: one-hot vectors
    """

    def _matches(self, labels: Tensor, predictions: Tensor) -> Tensor:
        self._require_same_shape(labels, predictions)
        return equal(argmax(labels, axis=-1), argmax(predictions, axis=-1))


@export("contrib.eager.metrics.BinaryAccuracy")
class BinaryAccuracy(_Matches):
    """The fraction of predictions that exceed a threshold where the label is true, and do not where it is false."""

    def __init__(self, threshold: float, name: str | None = None, dtype: DTypeLike = dtypes.float64) -> None:
        super().__init__(name=name, dtype=dtype)
        self.threshold = threshold

    def _matches(self, labels: Tensor, predictions: Tensor) -> Tensor:
        self._require_same_shape(labels, predictions)
        return equal(cast(labels, dtypes.bool), predictions > self.threshold)


@export("contrib.eager.metrics.SparseAccuracy")
class SparseAccuracy(_Matches):
    """The fraction of predictions, one score per class, whose highest score is at the label's class.

    labels: numbers of classes
    """

    def _matches(self, labels: Tensor, predictions: Tensor) -> Tensor:
        best = argmax(predictions, axis=-1)
        self._require_same_shape(labels, best)
        return equal(cast(labels, best.dtype), best)
