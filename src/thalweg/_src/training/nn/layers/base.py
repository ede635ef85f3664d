"""Layer: the base class of layers, whose variables are created by the first call and shared by later ones."""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, executing_eagerly_outside_functions, get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.reshape import shape as shape_of
from thalweg._src.graph.scopes import GraphKeys, get_collection_ref, init_scope, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.walk import preorder
from thalweg._src.training.checkpoint.trackable import Child, attributes_of, children_of, is_trackable
from thalweg._src.training.nn.layers.input_spec import require_inputs
from thalweg._src.training.nn.module import with_underscores
from thalweg._src.training.variables.partitions import PartitionedVariable
from thalweg._src.training.variables.replication import VariableAggregation, VariableSynchronization
from thalweg._src.training.variables.restoration import RestoresChildren, child_added
from thalweg._src.training.variables.variable_scope import VariableScope, get_variable, variable_scope, variable_store
from thalweg._src.training.variables.variables import Variable

_LISTED = frozenset(("_trainable_weights", "_non_trainable_weights", "_losses", "_updates", "_calls", "_named_weights"))
_IGNORED = {"input_shape", "batch_input_shape", "batch_size", "weights", "autocast", "dynamic"}
_SHARED_BY_COPIES = (Graph, Tensor, Operation, Variable, PartitionedVariable, VariableScope, variable_scope)


@export("layers.Layer")
class Layer(RestoresChildren):
    """The base class of layers; a subclass creates variables in `build` and computes in `call`.

    Variables are created in a variable scope that the first call opens, with the given name or one derived from the
    name of the class.

    Args:
        trainable: Whether the layer's variables are added to `TRAINABLE_VARIABLES`.
        dtype: Type of the layer's variables; by default that of the first input.
    """

    built = False
    trainable = True
    stateful = False
    input_spec: Any = None
    _reuse: Any = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # Not in __init__, which subclasses in published programs sometimes do not call.
        layer = super().__new__(cls)
        layer._name = None
        layer._base_name = None
        layer._dtype = None
        layer._scope = None
        layer._activity_regularizer = None
        layer._trainable_weights = []
        layer._non_trainable_weights = []
        layer._updates = []
        layer._losses = []
        layer._calls = []
        layer._named_weights = {}
        return layer

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any
    ) -> None:
        scope, self._reuse = kwargs.pop("_scope", None), kwargs.pop("_reuse", None)
        self._activity_regularizer: Callable[[Any], Any] | None = kwargs.pop("activity_regularizer", None)
        for key in kwargs:
            if key not in _IGNORED:
                raise TypeError(f"Keyword argument not understood: {key!r}")
        self.trainable = trainable
        self._dtype: str | None = None if dtype is None else dtypes.as_dtype(dtype).name
        self._base_name: str | None = name.name if isinstance(name, VariableScope) else name
        self._name: str | None = name if isinstance(name, str) and name else self._unique_name()
        self._scope: VariableScope | None = None
        self._trainable_weights: list[Any]
        self._non_trainable_weights: list[Any]
        self._updates: list[Operation]
        self._losses: list[Any]
        self._calls: list[tuple[Any, Any]]
        self._named_weights: dict[str, Any]
        if scope:
            with variable_scope(scope) as captured:
                self._scope = captured

    # -- names --------------------------------------------------------------------------------------------------------

    def _unique_name(self) -> str:
        """Returns the name of the class with a number that is unique in the graph."""
        counts = get_default_graph().singleton("layer_names", collections.Counter)
        base = snake_case(type(self).__name__)
        counts[base] += 1
        return f"{base}_{counts[base]}"

    @property
    def name(self) -> str:
        """The name of the layer."""
        if self._name is None:
            self._name = self._unique_name()
        return self._name

    dtype = ReadOnly[str | None]("The name of the variables' dtype; before the first call, the given one or None.")

    @property
    def scope_name(self) -> str:
        """The name of the variable scope."""
        if self._scope is None:
            raise ValueError(f"Layer {self.name!r} has no scope name before its first call.")
        return self._scope.name

    def _set_scope(self, scope: str | VariableScope | None = None) -> None:
        if self._scope is not None:
            return
        base = self._base_name or snake_case(type(self).__name__)
        if self._reuse:
            opened = variable_scope(base if scope is None else scope)
        else:
            opened = variable_scope(scope, default_name=base)
        with opened as captured:
            self._scope = captured

    # -- variables ----------------------------------------------------------------------------------------------------

    def add_weight(
        self,
        name: str,
        shape: ShapeLike = (),
        dtype: DTypeLike | None = None,
        initializer: str | Callable[..., Any] | None = None,
        regularizer: Callable[..., Any] | None = None,
        trainable: bool | None = None,
        constraint: Callable[..., Any] | None = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        partitioner: Callable[..., Any] | None = None,
    ) -> Any:
        """Returns a variable of this layer, created or reused according to its scope."""
        on_read = synchronization is VariableSynchronization.ON_READ
        if on_read and trainable:
            raise ValueError("a variable with synchronization=ON_READ cannot be trainable")
        trainable = (not on_read if trainable is None else trainable) and self.trainable
        self._set_scope()
        assert self._scope is not None
        store = variable_store()
        before = len(store.variables)
        with (
            variable_scope(self._scope, reuse=self.built or self._reuse, auxiliary_name_scope=False) as scope,
            name_scope(scope.original_name_scope),
        ):
            variable = get_variable(
                name,
                shape=shape,
                dtype=dtypes.as_dtype(dtype or self._dtype or dtypes.float32),
                initializer=initializer,
                trainable=trainable,
                constraint=constraint,
                partitioner=partitioner,
                use_resource=use_resource,
                synchronization=synchronization,
                aggregation=aggregation,
            )
            weights = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
            if regularizer is not None and executing_eagerly_outside_functions():
                self.add_loss([functools.partial(regularizer, weight) for weight in weights])
            elif regularizer is not None and len(store.variables) > before:
                for weight in weights:
                    with name_scope(f"{name}/Regularizer"), init_scope():
                        self.add_loss(regularizer(weight))
        for weight in weights:
            trained = trainable and getattr(weight, "trainable", True)  # a custom getter may have changed it
            (self._trainable_weights if trained else self._non_trainable_weights).append(weight)
        self._named_weights.setdefault(name, variable)
        child_added()
        return variable

    @contextlib.contextmanager
    def _unpartitioned(self) -> Iterator[None]:
        """Context manager: variables are not partitioned, even if the scope has a partitioner."""
        self._set_scope()
        assert self._scope is not None
        partitioner = self._scope.partitioner
        self._scope.set_partitioner(None)
        try:
            yield
        finally:
            self._scope.set_partitioner(partitioner)

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """Deprecated name of `add_weight`."""
        return self.add_weight(*args, **kwargs)

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables."""
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that are not trained."""
        return (
            list(self._non_trainable_weights)
            if self.trainable
            else self._trainable_weights + self._non_trainable_weights
        )

    @property
    def weights(self) -> list[Any]:
        """All variables, the trainable ones first."""
        return self.trainable_weights + self.non_trainable_weights

    trainable_variables = ReadOnly[list[Any]]("The trainable variables.", "trainable_weights")
    non_trainable_variables = ReadOnly[list[Any]]("The variables that are not trained.", "non_trainable_weights")
    variables = ReadOnly[list[Any]]("All variables, the trainable ones first.", "weights")

    def count_params(self) -> int:
        """Returns the total number of elements of the variables."""
        if not self.built:
            raise ValueError(f"Layer {self.name!r} has no parameters to count before it is built.")
        return sum(math.prod(weight.get_shape().as_list()) for weight in self.weights)

    # -- losses and updates -------------------------------------------------------------------------------------------

    def add_loss(self, losses: object, inputs: object = None) -> None:
        """Adds losses, also to the collection REGULARIZATION_LOSSES.

        In eager execution, functions are called whenever `losses` is read, and tensors are kept until the next call.
        """
        if executing_eagerly_outside_functions():
            self._losses += _listed(losses)
            return
        for loss in _listed(losses):
            loss = loss() if callable(loss) else loss
            if loss is not None:
                tensor = convert_to_tensor(loss)
                self._losses.append(tensor)
                _add_once(GraphKeys.REGULARIZATION_LOSSES, tensor)

    def add_update(self, updates: object, inputs: object = None) -> None:
        """Adds operations to run with each training step, also to the collection UPDATE_OPS."""
        for update in _listed(updates):
            update = update() if callable(update) else update
            if update is not None and not executing_eagerly():  # otherwise it has run
                self._updates.append(update if isinstance(update, Operation) else update.op)

    @property
    def losses(self) -> list[Tensor]:
        """The losses of the layer."""
        losses = [loss() if callable(loss) else loss for loss in self._losses]
        return [loss for loss in losses if loss is not None]

    @property
    def updates(self) -> list[Operation]:
        """The update operations of the layer."""
        return list(self._updates) if self.trainable or self.stateful else []

    def get_losses_for(self, inputs: object) -> list[Tensor]:
        """Returns the losses that depend on the inputs; for None, those that depend on no input of the layer."""
        if executing_eagerly():
            functions = [loss for loss in self._losses if callable(loss)]
            return [loss for function in functions if (loss := function()) is not None] if inputs is None else []
        return [loss for loss in self.losses if self._belongs(loss.op, inputs)]

    def get_updates_for(self, inputs: object) -> list[Operation]:
        """Returns the updates that depend on the inputs; for None, those that depend on no input of the layer."""
        return [update for update in self.updates if self._belongs(update, inputs)]

    def _belongs(self, operation: Operation, inputs: object) -> bool:
        if inputs is None:
            return not _depends(operation, {x for call_inputs, _ in self._calls for x in flat(call_inputs)})
        return _depends(operation, set(flat(inputs)))

    # -- calls --------------------------------------------------------------------------------------------------------

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the variables, given the shape of the first inputs."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs."""
        return inputs

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        """Returns the shape of the outputs for inputs of a shape."""
        raise NotImplementedError(f"{type(self).__name__} does not define compute_output_shape")

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the layer; a deprecated form of `__call__`."""
        return self(inputs, *args, **kwargs)

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Applies the layer to inputs in its variable scope; the first call creates the variables."""
        self._set_scope(kwargs.pop("scope", None))
        assert self._scope is not None
        reuse = True if self.built else self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            if _takes_scope(getattr(self.call, "__func__", self.call)):
                kwargs["scope"] = scope
            with name_scope(scope.original_name_scope):
                inputs = _arrays_as_tensors(inputs)
                tensors = flat(inputs)
                if self.input_spec is not None:
                    require_inputs(self.input_spec, tensors, self.name)
                if not self.built:
                    self._build(inputs, tensors)
                if executing_eagerly():
                    self._losses = [loss for loss in self._losses if callable(loss)]
                outputs = self.call(inputs, *args, **kwargs)
                if outputs is None:
                    raise ValueError(f"Layer {self.name!r}: call() returned None, expected tensors.")
                if self._activity_regularizer is not None:
                    self._regularize_activity(outputs)
        if not executing_eagerly():
            self._calls.append((inputs, outputs))
        for update in self.updates:
            _add_once(GraphKeys.UPDATE_OPS, update)
        return outputs

    def _build(self, inputs: Any, tensors: Sequence[Any]) -> None:
        for tensor in tensors:
            require_members("inputs", tensor, "tensors", "dtype", "get_shape")
        if self._dtype is None and tensors:
            self._dtype = tensors[0].dtype.base_dtype.name
        self.build(_map(lambda x: x.get_shape(), inputs))
        self.built = True
        if self.input_spec is not None:
            require_inputs(self.input_spec, tensors, self.name)

    def _regularize_activity(self, outputs: object) -> None:
        """Adds the activity regularization of the outputs, divided by the batch size."""
        assert self._activity_regularizer is not None
        with name_scope("ActivityRegularizer"):
            for output in flat(outputs):
                loss = convert_to_tensor(self._activity_regularizer(output))
                self.add_loss(loss / cast(shape_of(output)[0], loss.dtype))

    @property
    def activity_regularizer(self) -> Any:
        """The function from the outputs to a penalty, or None."""
        return self._activity_regularizer

    @activity_regularizer.setter
    def activity_regularizer(self, regularizer: Callable[..., Any]) -> None:
        self._activity_regularizer = regularizer

    # -- inputs and outputs of calls ----------------------------------------------------------------------------------

    def _at(self, node_index: int, which: int, what: str) -> Any:
        if not 0 <= node_index < len(self._calls):
            raise ValueError(f"layer {self.name} was called {len(self._calls)} times: there is no {what} {node_index}")
        return self._calls[node_index][which]

    def _only(self, which: int, what: str) -> Any:
        if not self._calls:
            raise AttributeError(f"Layer {self.name} has not been called, it has no {what}.")
        values = [call[which] for call in self._calls]
        if any(other is not values[0] for other in values):
            raise AttributeError(f"Layer {self.name} was called more than once; use `get_{what}_at` instead.")
        return values[0]

    def get_input_at(self, node_index: int) -> Any:
        """Returns the inputs of one call, by index."""
        return self._at(node_index, 0, "input")

    def get_output_at(self, node_index: int) -> Any:
        """Returns the outputs of one call, by index."""
        return self._at(node_index, 1, "output")

    def get_input_shape_at(self, node_index: int) -> Any:
        """Returns the shapes of the inputs of one call, by index."""
        return _map(_sizes, self._at(node_index, 0, "input shape"))

    def get_output_shape_at(self, node_index: int) -> Any:
        """Returns the shapes of the outputs of one call, by index."""
        return _map(_sizes, self._at(node_index, 1, "output shape"))

    @property
    def input(self) -> Any:
        """The inputs of the only call."""
        return self._only(0, "input")

    @property
    def output(self) -> Any:
        """The outputs of the only call."""
        return self._only(1, "output")

    @property
    def input_shape(self) -> Any:
        """The shapes of the inputs, which must be the same in all calls."""
        return _map(_sizes, self._only(0, "input"))

    @property
    def output_shape(self) -> Any:
        """The shapes of the outputs, which must be the same in all calls."""
        return _map(_sizes, self._only(1, "output"))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Copies the layer; objects of the graph are shared."""
        result = memo[id(self)] = type(self).__new__(type(self))
        for key, value in vars(self).items():
            if _is_shared(value):
                setattr(result, key, value)
            elif any(map(_is_shared, flat(value))):
                setattr(result, key, copy.copy(value))
            else:
                setattr(result, key, copy.deepcopy(value, memo))
        return result


Layer.__new__.__signature__ = inspect.signature(Layer.__init__)  # type: ignore[attr-defined]  # for help()


@children_of.register(Layer)
def _children(layer: Layer) -> Iterator[Child]:
    """Yields the variables of the layer by name, then its attributes."""
    yield from ((name, weight) for name, weight in layer._named_weights.items() if is_trackable(weight))
    yield from (
        (name, child) for name, child in attributes_of(layer, without=_LISTED) if name not in layer._named_weights
    )


def _is_shared(value: object) -> bool:
    """Returns whether copies of a layer share a value; variables of eager execution are copied."""
    return isinstance(value, _SHARED_BY_COPIES) and not (isinstance(value, Variable) and value._handle.is_eager)


def snake_case(name: str) -> str:
    """Converts the name of a class to snake case: BatchNormalization to batch_normalization."""
    whole = with_underscores(name, after_digits=False)
    return f"private{whole}" if whole.startswith("_") else whole


def flat(structure: object) -> list[Any]:
    """Returns the leaves of nested lists, tuples and dictionaries."""
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in flat(structure[key])]
    if isinstance(structure, list | tuple):
        return [leaf for item in structure for leaf in flat(item)]
    return [structure]


def _map(function: Callable[[Any], Any], structure: object) -> Any:
    if isinstance(structure, dict):
        return {key: _map(function, value) for key, value in structure.items()}
    if isinstance(structure, list | tuple):
        items = [_map(function, item) for item in structure]
        return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)
    return function(structure)


def _arrays_as_tensors(inputs: object) -> Any:
    if any(isinstance(x, np.ndarray | float | int | Variable | PartitionedVariable) for x in flat(inputs)):
        return _map(convert_to_tensor, inputs)
    return inputs


def _sizes(tensor: Tensor) -> Any:
    shape = tensor.get_shape()
    return None if shape.ndims is None else tuple(shape.as_list())


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _add_once(collection: str, element: Any) -> None:
    members = get_collection_ref(collection)
    if not any(member is element for member in members):
        members.append(element)


def _depends(operation: Operation, tensors: set[Any]) -> bool:
    """Returns whether an operation depends on one of the tensors, directly or indirectly."""
    operations = preorder([operation], lambda op: [*(tensor.op for tensor in op.inputs), *op.control_inputs])
    return any(not tensors.isdisjoint([*op.outputs, *op.inputs]) for op in operations)


@functools.lru_cache(maxsize=1024)
def _takes_scope(function: Callable[..., Any]) -> bool:
    return "scope" in inspect.signature(function).parameters
