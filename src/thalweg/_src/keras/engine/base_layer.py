"""Layer: the base class of Keras layers, which may be parts of each other and of models.

The layers of `tf.layers` compute in the same way, so that a Keras layer derives from one of them and from this class.
What differs is in this class: variables are named by name scopes and not shared by variable scopes, inputs may be
symbolic tensors that a model is made of, and masks, the learning phase, losses and metrics pass through nested layers.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, TensorShape
from thalweg._src.graph import nest
from thalweg._src.graph.autograph.convert import convert
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.scopes import init_scope, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras import initializers, regularizers
from thalweg._src.keras.backend import state
from thalweg._src.keras.backend.settings import floatx
from thalweg._src.keras.backend.values import batch_get_value, batch_set_value
from thalweg._src.keras.engine import call_context, tracking
from thalweg._src.keras.engine.node import Node, all_have_history
from thalweg._src.keras.engine.operation_layers import with_history
from thalweg._src.keras.engine.tracking import NestedShapes, Tracking
from thalweg._src.keras.places import expected
from thalweg._src.keras.serialization import Identifier
from thalweg._src.training.checkpoint.trackable import Child, attributes_of, children_of
from thalweg._src.training.nn.layers.base import Layer as PlainLayer, snake_case
from thalweg._src.training.nn.layers.input_spec import require_inputs
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.variables.replication import VariableAggregation, VariableSynchronization
from thalweg._src.training.variables.restoration import child_added
from thalweg._src.training.variables.variables import Variable

_OPTIONS = {
    "input_shape",
    "batch_input_shape",
    "batch_size",
    "weights",
    "activity_regularizer",
    "input_dim",
    "autocast",
}
# Arguments that later releases of Keras write for some layers, with the values that change nothing.
_NEUTRAL = {"dropout": 0.0, "keepdims": False, "score_mode": "dot", "seed": None}


def _changes_nothing(name: str, value: object) -> bool:
    return name in _NEUTRAL and bool(value == _NEUTRAL[name])


@export("keras.layers.Layer")
class Layer(Tracking, PlainLayer):
    """The base class of layers; a subclass creates variables in `build` and computes in `call`.

    Args:
        trainable: Whether the variables are trained.
        name: Name of the layer; by default that of its class, with a number.
        dtype: Type of the variables; by default that of the first inputs.
        dynamic: Whether the layer can only run eagerly.
        **kwargs: `input_shape`, `batch_input_shape`, `batch_size`, `weights`, `activity_regularizer`.
    """

    supports_masking = False
    _is_graph_network = False
    _object_identifier = "_tf_keras_layer"  # by which readers of SavedModels know the kind of a layer
    _build_input_shape: Any = None  # for which the variables were created
    _dynamic: bool
    _batch_input_shape: tuple[Any, ...] | None
    _initial_weights: Any
    _inbound_nodes: list[Node]
    _outbound_nodes: list[Node]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        layer = super().__new__(cls)
        layer._dynamic = False
        layer._batch_input_shape = None
        layer._initial_weights = None
        layer._inbound_nodes = []
        layer._outbound_nodes = []
        return layer

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        for key in kwargs:
            if key not in _OPTIONS:
                raise TypeError("Keyword argument not understood:", key)
        if "input_dim" in kwargs and "input_shape" not in kwargs:
            kwargs["input_shape"] = (kwargs["input_dim"],)
        if "batch_input_shape" in kwargs:
            self._batch_input_shape = tuple(kwargs["batch_input_shape"])
        elif "input_shape" in kwargs:
            self._batch_input_shape = (kwargs.get("batch_size"), *kwargs["input_shape"])
        super().__init__(trainable=trainable, name=name, dtype=dtype)
        self._dynamic = dynamic
        self._initial_weights = kwargs.get("weights")
        self._activity_regularizer = regularizers.get(kwargs.get("activity_regularizer"))

    def _unique_name(self) -> str:
        """Returns the name of the class, with a number if other layers have it."""
        return state.unique_object_name(snake_case(type(self).__name__))

    @property
    def dynamic(self) -> bool:
        """Whether the layer can only run eagerly."""
        return self._dynamic

    # -- variables ----------------------------------------------------------------------------------------------------

    def add_weight(  # type: ignore[override]
        self,
        name: str | None = None,
        shape: ShapeLike = None,
        dtype: DTypeLike | None = None,
        initializer: Identifier = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        partitioner: Any = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        **kwargs: Any,
    ) -> Any:
        """Returns a new variable of this layer."""
        kind = dtypes.as_dtype(dtype or self._dtype or floatx())
        if self._dtype is None:
            self._dtype = kind.base_dtype.name
        on_read = synchronization is VariableSynchronization.ON_READ
        if on_read and trainable:
            raise ValueError("a variable with synchronization=ON_READ cannot be trainable")
        trained = not on_read if trainable is None else trainable
        make = _initializer(initializer, kind, name)
        with init_scope() if get_default_graph().captures else contextlib.nullcontext():
            variable = Variable(
                functools.partial(make, TensorShape(shape if shape is not None else ()).as_list(), dtype=kind),
                trainable=trained,
                name=name,
                dtype=kind,
                constraint=constraint,
                use_resource=True,
                synchronization=synchronization,
                aggregation=aggregation,
                collections=kwargs.get("collections"),
            )
        state.track_variable(variable)
        if regularizer is not None:
            self._callable_losses.append(functools.partial(_regularization, regularizer, variable, name))
        (self._trainable_weights if trained else self._non_trainable_weights).append(variable)
        child_added()
        return variable

    def get_weights(self) -> list[Any]:
        """Returns the values of the variables as NumPy arrays."""
        return batch_get_value(self.weights)

    def set_weights(self, weights: Sequence[np.ndarray[Any, Any]]) -> None:
        """Sets the values of the variables, in the order of `get_weights`."""
        variables = self.weights
        if len(variables) != len(weights):
            raise ValueError(
                f"You called `set_weights(weights)` on layer {self.name!r} with {len(weights)} arrays, but it has "
                f"{len(variables)} weights: {', '.join(weight.name for weight in variables)}"
            )
        for variable, value in zip(variables, weights):
            if tuple(np.shape(value)) != tuple(variable.shape.as_list()):
                raise ValueError(
                    f"Layer weight shape {tuple(variable.shape.as_list())} not compatible with provided weight shape "
                    f"{tuple(np.shape(value))}"
                )
        batch_set_value(list(zip(variables, weights)))

    @contextlib.contextmanager
    def _unpartitioned(self) -> Iterator[None]:
        yield

    # -- calls --------------------------------------------------------------------------------------------------------

    def compute_mask(self, inputs: NestedTensors, mask: NestedTensors = None) -> Any:
        """Returns the mask of the outputs; that of the inputs if the layer supports masks."""
        if not self.supports_masking:
            if any(m is not None for m in nest.flatten(mask)):
                raise TypeError(f"Layer {self.name} does not support masking, but was passed an input_mask: {mask}")
            return None
        return mask

    def compute_output_shape(self, input_shape: NestedShapes) -> Any:
        """Returns the shape of the outputs for inputs of a shape, by a call on placeholders."""
        kind = dtypes.as_dtype(self._dtype or floatx())
        graph = state.get_graph()
        with graph.as_default():
            inputs = tracking.map_shapes(lambda shape: _placeholder(graph, kind, shape), input_shape)
            outputs = self(inputs, training=False) if self.takes_argument("training") else self(inputs)
        return nest.map_structure(lambda tensor: tensor.shape, outputs)

    def compute_output_signature(self, input_signature: Any) -> Any:
        """Returns the types and shapes of the outputs for inputs of some types and shapes."""
        shape = self.compute_output_shape(nest.map_structure(lambda spec: spec.shape, input_signature))
        kind = dtypes.as_dtype(self._dtype or nest.flatten(input_signature)[0].dtype)
        kinds = type(nest.flatten(input_signature)[0])
        return tracking.map_shapes(lambda output_shape: kinds(output_shape, kind), shape)

    def __call__(self, inputs: NestedTensors, *args: Any, **kwargs: Any) -> Any:
        """Applies the layer; the first call creates the variables."""
        inputs = _as_tensors(inputs)
        flat = nest.flatten(inputs)
        if executing_eagerly() and any(isinstance(leaf, Tensor) and not leaf.is_eager for leaf in flat):
            with state.get_graph().as_default():  # a model is made of symbolic tensors
                return self(inputs, *args, **kwargs)
        is_outermost = not call_context.is_in_call()
        if is_outermost and not executing_eagerly():
            inputs = with_history(inputs)
            flat = nest.flatten(inputs)
        call_arguments = {**dict(zip(_names_after_inputs(type(self).call), args)), **kwargs}
        self._begin_call()
        outputs = self._called(inputs, flat, call_arguments)
        if is_outermost and all_have_history(flat):
            outputs = nest.map_structure(lambda tensor: identity(tensor) if _is_in(tensor, flat) else tensor, outputs)
            Node(self, inputs, outputs, call_arguments)
        return outputs

    def _called(self, inputs: NestedTensors, flat: list[Any], call_arguments: dict[str, Any]) -> Any:
        """Returns the outputs, with their masks; creates the variables before that if there are none."""
        arguments = self._arguments(inputs, call_arguments)
        with call_context.entered(self, arguments.get("training")), name_scope(self._name_scope()):
            if self.input_spec is not None:
                require_inputs(self.input_spec, flat, self.name)
            if not self.built:
                self._build_for(inputs, flat)
            outputs = self._call_function(inputs, **arguments)
            if outputs is None:
                raise ValueError(f"Layer {self.name!r}: call() returned None, expected tensors.")
            if self._activity_regularizer is not None:
                self._regularize_activity(outputs)
            self._set_masks(inputs, flat, outputs, arguments)
        return outputs

    def _name_scope(self) -> str:
        return self.name

    @functools.cached_property
    def _call_function(self) -> Callable[..., Any]:
        """`call`; that of a user's class with control flow on tensors converted."""
        return self.call if type(self).__module__.startswith("thalweg.") else convert(self.call)

    def takes_argument(self, name: str) -> bool:
        """Returns whether `call` has an argument of a name."""
        return name in _parameters(type(self).call)

    def _arguments(self, inputs: NestedTensors, call_arguments: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments of `call` by name, with the masks of the inputs and the learning phase added."""
        arguments = dict(call_arguments)
        if self.takes_argument("mask") and arguments.get("mask") is None:
            masks = nest.map_structure(mask_of, inputs)
            if any(mask is not None for mask in nest.flatten(masks)):
                arguments["mask"] = masks
        if self.takes_argument("training") and arguments.get("training") is None:
            training = call_context.outer_training()
            arguments["training"] = state.learning_phase() if training is None else training
        return arguments

    def _build_for(self, inputs: NestedTensors, flat: list[Any]) -> None:
        if self._dtype is None and flat and isinstance(flat[0], Tensor):
            self._dtype = flat[0].dtype.base_dtype.name
        self._build_input_shape = tracking.shapes_of(inputs)
        with init_scope() if get_default_graph().captures else contextlib.nullcontext():
            self.build(tracking.shapes_of(inputs))
        self.built = True
        if self.input_spec is not None:
            require_inputs(self.input_spec, flat, self.name)
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)
            self._initial_weights = None

    def _set_masks(
        self, inputs: NestedTensors, flat: list[Any], outputs: NestedTensors, arguments: dict[str, Any]
    ) -> None:
        """Sets the mask of each output."""
        if type(self).compute_mask is Layer.compute_mask and not self.supports_masking:
            return
        input_masks = arguments["mask"] if "mask" in arguments else nest.map_structure(mask_of, inputs)
        masks, tensors = self.compute_mask(inputs, input_masks), nest.flatten(outputs)
        listed = list(masks) if isinstance(masks, list | tuple) else [masks] * len(tensors)
        for tensor, mask in zip(tensors, listed):
            if mask is not None and not _is_in(tensor, flat):
                tensor._keras_mask = mask

    # -- descriptions -------------------------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which `from_config` makes such a layer."""
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable}
        if self._batch_input_shape is not None:
            config["batch_input_shape"] = self._batch_input_shape
        if self._dtype is not None:
            config["dtype"] = self._dtype
        if self.dynamic:
            config["dynamic"] = True
        if type(self).get_config is Layer.get_config and type(self).__init__ is not Layer.__init__:
            described = {*config, *_OPTIONS, "dtype", "dynamic", "self", "args", "kwargs"}
            if any(name not in described for name in _parameters(type(self).__init__)):
                raise NotImplementedError(f"{type(self).__name__}: a layer with arguments of its own needs get_config")
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Returns a layer made from the result of `get_config`."""
        arguments = expected(dict, config).items()
        return cls(**{name: value for name, value in arguments if not _changes_nothing(name, value)})


Layer.__new__.__signature__ = inspect.signature(Layer.__init__)  # type: ignore[attr-defined]  # for help()


def _initializer(initializer: Identifier, kind: DType, name: str | None) -> Callable[..., Any]:
    """Returns an initializer; by default Glorot's for floats, and zeros for integers and booleans."""
    if initializer is not None:
        return initializers.get(initializer)  # type: ignore[no-any-return]
    if kind.is_floating:
        return initializers.get("glorot_uniform")  # type: ignore[no-any-return]
    if kind.is_integer or kind is dtypes.bool:
        return initializers.get("zeros")  # type: ignore[no-any-return]
    raise ValueError(f"An initializer for variable {name} of type {kind.base_dtype} is required")


def _regularization(regularizer: Callable[[Any], Any], variable: Variable, name: str | None) -> Any:
    with name_scope(f"{name}/Regularizer"):
        return regularizer(variable)


def _placeholder(graph: Graph, kind: DType, shape: ShapeLike) -> Tensor:
    return graph.create_op("Placeholder", [], attrs={"dtype": kind, "shape": TensorShape(shape).as_list()}).outputs[0]


def _as_tensors(inputs: NestedTensors) -> Any:
    if any(isinstance(leaf, np.ndarray | float | int | Variable) for leaf in nest.flatten(inputs)):
        return nest.map_structure(convert_to_tensor, inputs)
    return inputs


def mask_of(tensor: Tensor) -> Any:
    """Returns the mask of a tensor, None if it has none."""
    return getattr(tensor, "_keras_mask", None)


def _is_in(tensor: Tensor, tensors: list[Any]) -> bool:
    return any(tensor is other for other in tensors)


@functools.lru_cache(maxsize=1024)
def _parameters(function: Callable[..., Any]) -> Any:
    return inspect.signature(function).parameters


def _names_after_inputs(function: Callable[..., Any]) -> list[str]:
    """Returns the names of the arguments of `call` after self and the inputs."""
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in _parameters(function).items() if parameter.kind in plain][2:]


@children_of.register(Layer)
def _children(layer: Layer) -> Iterator[Child]:
    """Yields the attributes of a layer, in the order in which they were set."""
    yield from attributes_of(layer, without=tracking.UNTRACKED)
