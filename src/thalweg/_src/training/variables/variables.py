"""Variables of the graph: the user's view of state that persists between steps."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.hook import Hook
from thalweg._src.base.logging import WARN, log_first_n
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike, TensorShape
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.convert import convert_to_tensor, register_tensor_conversion_function
from thalweg._src.graph.default import executing_eagerly, executing_eagerly_outside_functions, get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import state
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.operators import install_operators
from thalweg._src.graph.ops.slicing import strided_slice_arguments
from thalweg._src.graph.scopes import GraphKeys, init_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.graph.variable_creators import variable_creators
from thalweg._src.runtime.eager.mode import eager_graph
from thalweg._src.training.variables.defaults import resource_variables_enabled
from thalweg._src.training.variables.partitions import SaveSliceInfo
from thalweg._src.training.variables.replication import VariableAggregation, VariableSynchronization
from thalweg._src.training.variables.sessions import SessionLike
from thalweg._src.training.variables.variable_protos import restore, variable_to_proto

_USE_RESOURCE = 11  # position of the parameter


@export("Variable")
class Variable:
    """A tensor that keeps its value between steps; `assign` and similar operations update it.

    Args:
        initial_value: The value before training: a tensor, an array, or a function that returns one.
        collections: Collections that the variable is added to; by default `GLOBAL_VARIABLES`.
        name: Name of the variable; it is made unique.
        variable_def: A `VariableDef` to restore the variable from, in place of the other arguments.
        dtype: Element type; by default that of the initial value.
        expected_shape: Deprecated and ignored.
        import_scope: Name scope to put before the names in `variable_def`.
        shape: Static shape of the variable; by default that of the initial value.
    """

    __array_priority__ = 100
    _in_graph_mode = True
    SaveSliceInfo = SaveSliceInfo

    _classes: ClassVar[dict[bool, type[Variable]]] = {}  # by whether they use resources
    _use_resource_in_scope: ClassVar[Hook[Callable[[], bool | None]]]  # set by variable_scope.py
    uses_resource: ClassVar[bool]  # whether operations address it by a handle
    _container: Variable | None = None  # the distributed variable that this one is a copy of

    def __init_subclass__(cls, uses_resource: bool | None = None) -> None:
        if uses_resource is not None:
            cls.uses_resource = uses_resource
            Variable._classes[uses_resource] = cls

    @classmethod
    def _class_for(cls, use_resource: bool | None) -> type[Variable]:
        """Returns the class of a variable: as given, as the current variable scope says, or the default."""
        if use_resource is None:
            use_resource = cls._use_resource_in_scope()
        if executing_eagerly_outside_functions():
            return cls._classes[True]
        return cls._classes[resource_variables_enabled() if use_resource is None else bool(use_resource)]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not Variable:
            return super().__new__(cls)
        creators = variable_creators()
        if not creators.stack or creators.building:
            use_resource = args[_USE_RESOURCE] if len(args) > _USE_RESOURCE else kwargs.get("use_resource")
            variable_def = kwargs.get("variable_def")
            return object.__new__(
                cls._class_for(use_resource if variable_def is None else getattr(variable_def, "is_resource", None))
            )
        bound_arguments = inspect.signature(cls.__init__).bind(None, *args, **kwargs)
        bound_arguments.apply_defaults()
        return create_variable(**{key: value for key, value in bound_arguments.arguments.items() if key != "self"})

    def __init__(
        self,
        initial_value: TensorLike | Callable[..., Any] | None = None,
        trainable: bool | None = None,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: str | DeviceSpec | Callable[..., Any] | None = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        expected_shape: ShapeLike = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: ShapeLike = None,
    ) -> None:
        """Adds handle, initializer and a read to the default graph; a callable initial value is called there."""
        if hasattr(self, "_handle"):
            return  # a variable creator has created this one
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            restore(self, variable_def, import_scope, get_default_graph())
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if collections is None:
            collections = [GraphKeys.GLOBAL_VARIABLES]
        if not isinstance(collections, list | tuple | set):
            raise ValueError(
                f"collections: expected a list, tuple or set of keys, received {collections!r} of {type(collections)}"
            )
        if constraint is not None and not callable(constraint):
            raise ValueError(f"constraint: expected a callable, received {constraint!r}")
        if trainable is None:
            trainable = synchronization is not VariableSynchronization.ON_READ
        self._trainable = trainable
        self._synchronization = synchronization
        self._aggregation = aggregation
        self._constraint = constraint
        self._save_slice_info: Any = None
        self._add_operations(
            initial_value,
            name,
            None if dtype is None else dtypes.as_dtype(dtype).base_dtype,
            None if shape is None else shapes.as_shape(shape),
            validate_shape,
            caching_device,
        )
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections = [*collections, GraphKeys.TRAINABLE_VARIABLES]
        if not self._handle.is_eager:
            self.graph.add_to_collections(collections, self)
        elif GraphKeys.GLOBAL_STEP in collections:  # the only collection that eager execution reads
            eager_graph().add_to_collection(GraphKeys.GLOBAL_STEP, self)

    def _add_operations(
        self,
        initial_value: Any,
        name: str | None,
        dtype: DType | None,
        shape: shapes.Shape,
        validate_shape: bool,
        caching_device: str | DeviceSpec | Callable[..., Any] | None,
    ) -> None:
        """Adds the operations of the variable to the default graph."""
        raise NotImplementedError

    def _read(self, name: str | None = None) -> Tensor:
        """Adds a read of the current value."""
        raise NotImplementedError

    @staticmethod
    def _variable_shape(value: Tensor, shape: shapes.Shape, validate_shape: bool) -> shapes.Shape:
        if shape is None:
            if not validate_shape:
                return None
            if not shapes.is_fully_defined(value.dims):
                raise ValueError(
                    f"the shape of the initial value {value} is unknown; validate_shape=False allows any shape"
                )
            return value.dims
        if not shapes.compatible(shape, value.dims):
            raise ValueError(
                f"the initial value has shape {shapes.show(value.dims)}, expected shape {shapes.show(shape)} as given"
            )
        return shape

    _handle: Tensor  # of the resource, or the reference
    _graph_element: Tensor  # what is fetched
    _dtype: DType
    _initializer: Operation
    dims: shapes.Shape

    # -- facts --------------------------------------------------------------------------------------------------------

    _shared: str | None = None  # the name of a variable of eager execution

    @property
    def name(self) -> str:
        """The name of the variable, ending in ":0"."""
        return self._handle.name if self._shared is None else f"{self._shared}:0"

    @property
    def _shared_name(self) -> str:
        return self._handle.op.name if self._shared is None else self._shared

    dtype = ReadOnly[DType]("The element type; of a reference variable, its reference type.")

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return TensorShape(self.dims)

    def get_shape(self) -> TensorShape:
        """Returns the static shape."""
        return TensorShape(self.dims)

    def set_shape(self, shape: ShapeLike) -> None:
        """Merges the given shape into the static shape."""
        self.dims = shapes.merge(self.dims, shapes.as_shape(shape))
        self._graph_element.set_shape(self.dims)

    op = ReadOnly[Operation]("The operation of the variable.", "_handle.op")
    graph = ReadOnly[Graph]("The graph of the variable.", "_handle.graph")
    device = ReadOnly[str]("The device of the variable.", "_handle.device")

    @property
    def _owner_graph(self) -> Graph:
        """The graph of the variable, also in eager execution."""
        return eager_graph() if self._handle.is_eager else self._handle.graph

    initializer = ReadOnly[Operation]("The operation that assigns the initial value to the variable.")
    create = ReadOnly[Operation]("The operation that initializes the variable.", "_initializer")
    initial_value = ReadOnly[Tensor]("The tensor of the initial value.")
    trainable = ReadOnly[bool]("Whether the variable is trainable.")
    constraint = ReadOnly[Callable[[Any], Any] | None]("The function applied after updates, or None.")
    synchronization = ReadOnly[VariableSynchronization]("When copies of a replicated variable are synchronized.")
    aggregation = ReadOnly[VariableAggregation]("How copies of a replicated variable are aggregated.")

    def _get_save_slice_info(self) -> Any:
        return self._save_slice_info

    def _set_save_slice_info(self, save_slice_info: Any) -> None:
        self._save_slice_info = save_slice_info

    def _as_graph_element(self) -> Tensor:
        return self.value() if self._handle.is_eager else self._graph_element

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the variable as a VariableDef message; None if it is outside the scope."""
        return variable_to_proto(self, export_scope)

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Variable:
        """Returns the variable of a VariableDef message whose operations are already in the default graph."""
        variable = object.__new__(Variable._class_for(getattr(variable_def, "is_resource", None)))
        restore(variable, variable_def, import_scope, get_default_graph())
        return variable

    def __repr__(self) -> str:
        read: Any = self.read_value() if self._handle.is_eager and executing_eagerly() else None
        value = "" if read is None else f", numpy={read._text(True)}"
        return f"<tf.Variable '{self.name}' shape={self.get_shape()} dtype={self.dtype.name}{value}>"

    def numpy(self) -> Any:
        """Returns the value as a NumPy array; only in eager execution."""
        if not executing_eagerly():
            raise NotImplementedError("numpy() is only available when eager execution is enabled.")
        return self.read_value().numpy()  # type: ignore[attr-defined]

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> Any:
        return self.read_value().__array__(dtype)

    def __iter__(self) -> NoReturn:
        raise TypeError("'Variable' object is not iterable.")

    # -- reading ------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _at_handle(self) -> Iterator[None]:
        """Keeps operations on the handle from requesting a device of their own, which could contradict it."""
        if self._handle.is_eager:
            yield
            return
        graph = self.graph
        if not graph.scopes.devices and not graph.scopes.colocated:
            yield
            return
        with graph.colocate_with(None, ignore_existing=True), graph.device(None), graph.device(self.device or None):
            yield

    def value(self) -> Tensor:
        """Returns a tensor with the value."""
        raise NotImplementedError

    def read_value(self) -> Tensor:
        """Returns a tensor that reads the variable after the current control dependencies."""
        raise NotImplementedError

    def initialized_value(self) -> Tensor:
        """Returns the value, or the initial value before initialization, for initializers that use variables."""
        with init_scope():
            return cond(self.is_initialized(), self.read_value, lambda: self.initial_value)  # type: ignore[no-any-return]

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Returns a boolean tensor: whether the variable has a value."""
        with self._at_handle():
            return state.var_is_initialized_op(self._handle, name=name)

    def eval(self, session: SessionLike | None = None) -> Any:
        """Evaluates the variable in the given or the default session."""
        return self._graph_element.eval(session=session)

    def load(self, value: TensorLike, session: SessionLike | None = None) -> None:
        """Assigns a value in a session without adding operations to the graph."""
        session = self.graph.session_for(session, self.name)
        session.run(self._initializer, {self._initializer.inputs[1]: value})

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Returns rows of the variable; their gradient is sparse."""
        raise NotImplementedError

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Gathers elements or slices, each addressed by a vector of indices."""
        raise NotImplementedError

    def __getitem__(self, key: Any) -> Tensor:
        """Slices the value; the result has an `assign` that writes to the slice of the variable."""
        element: Any = self.value()[key]
        if element.is_eager:
            element.assign = functools.partial(self._assign_slice, key)
            return element  # type: ignore[no-any-return]
        operation = element.op
        if operation.type == "StridedSlice":

            def assign(value: TensorLike, name: str | None = None) -> Any:
                name = f"{operation.name}/_assign" if name is None else name
                masks = {k: operation.attrs[k] for k in operation.attrs if k.endswith("_mask")}
                return self._write(
                    state.resource_strided_slice_assign, *operation.inputs[1:], self._convert(value), name=name, **masks
                )

            element.assign = assign
        return element  # type: ignore[no-any-return]

    def _assign_slice(self, key: Any, value: TensorLike, name: str | None = None) -> Any:
        bounds, masks = strided_slice_arguments(key)
        options: dict[str, Any] = {"name": name, **masks}
        return self._write(state.resource_strided_slice_assign, *bounds, self._convert(value), **options)

    # -- writing ------------------------------------------------------------------------------------------------------

    def _convert(self, value: TensorLike) -> Any:
        return convert_to_tensor(value, self._dtype)

    def _write(
        self, definition: OpDef, *args: Any, name: str | None = None, read_value: bool = True, **attrs: Any
    ) -> Any:
        """Adds a write; returns the value after it, or the write itself."""
        raise NotImplementedError

    def assign(
        self, value: TensorLike, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Writes a value; updates are always atomic."""
        return self._write(
            state.assign_variable_op, self._convert(value), name=name, read_value=read_value, use_locking=use_locking
        )

    def assign_add(
        self, delta: TensorLike, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Adds a value to the variable."""
        return self._write(
            state.assign_add_variable_op,
            self._convert(delta),
            name=name,
            read_value=read_value,
            use_locking=use_locking,
        )

    def assign_sub(
        self, delta: TensorLike, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtracts a value from the variable."""
        return self._write(
            state.assign_sub_variable_op,
            self._convert(delta),
            name=name,
            read_value=read_value,
            use_locking=use_locking,
        )

    def _scatter(self, definition: OpDef, sparse_delta: IndexedSlices, name: str | None) -> Tensor:
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
        return self._write(definition, sparse_delta.indices, self._convert(sparse_delta.values), name=name)  # type: ignore[no-any-return]

    def scatter_add(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Adds rows of IndexedSlices; equal indices add up."""
        return self._scatter(state.resource_scatter_add, sparse_delta, name)

    def scatter_sub(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Subtracts IndexedSlices from rows."""
        return self._scatter(state.resource_scatter_sub, sparse_delta, name)

    def scatter_mul(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Multiplies rows by IndexedSlices."""
        return self._scatter(state.resource_scatter_mul, sparse_delta, name)

    def scatter_div(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Divides rows by IndexedSlices."""
        return self._scatter(state.resource_scatter_div, sparse_delta, name)

    def scatter_min(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Replaces rows by the element-wise minimum with IndexedSlices."""
        return self._scatter(state.resource_scatter_min, sparse_delta, name)

    def scatter_max(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Replaces rows by the element-wise maximum with IndexedSlices."""
        return self._scatter(state.resource_scatter_max, sparse_delta, name)

    def scatter_update(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Replaces rows by IndexedSlices."""
        return self._scatter(state.resource_scatter_update, sparse_delta, name)

    def scatter_nd_add(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Adds to elements or slices, each addressed by a vector of indices."""
        return self._write(state.resource_scatter_nd_add, indices, self._convert(updates), name=name)

    def scatter_nd_sub(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Subtracts from elements or slices, each addressed by a vector of indices."""
        return self._write(state.resource_scatter_nd_sub, indices, self._convert(updates), name=name)

    def scatter_nd_update(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Replaces elements or slices, each addressed by a vector of indices."""
        return self._write(state.resource_scatter_nd_update, indices, self._convert(updates), name=name)

    # -- checkpoints --------------------------------------------------------------------------------------------------

    def _value_to_save(self) -> Tensor:
        if not self.uses_resource:
            return self._handle
        with self._at_handle():
            return self._read()

    def _restore(self, value: Tensor) -> Operation:
        with self._at_handle():
            return state.assign_variable_op.operation(self._handle, value)

    def count_up_to(self, limit: int, name: str | None = None) -> Tensor:
        """Increments the variable, and fails with OutOfRangeError once it has reached the limit."""
        with self._at_handle():
            return state.resource_count_up_to(self._handle, limit=limit, T=self._dtype.base_dtype, name=name)

    def __iadd__(self, other: Any) -> Any:
        """Returns a new tensor and leaves the variable unchanged: `v += x` rebinds the name."""
        log_first_n(WARN, "Variable += value creates a tensor; variable.assign_add(value) changes the variable.", 1)
        return self + other

    def __isub__(self, other: Any) -> Any:
        log_first_n(WARN, "Variable -= value creates a tensor; variable.assign_sub(value) changes the variable.", 1)
        return self - other


def _convert_variable(
    value: Variable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type {dtype.name!r} for variable of type {value.dtype.name!r}: "
            "use tf.cast"
        )
    return value.value()


register_tensor_conversion_function(Variable, _convert_variable, 50)
install_operators(Variable)
Variable.__new__.__signature__ = inspect.signature(Variable.__init__)  # type: ignore[attr-defined]  # for help()


def create_variable(**kwargs: Any) -> Any:
    """Creates a variable through the current functions of `variable_creator_scope`, innermost first."""
    creators = variable_creators()

    def build(**arguments: Any) -> Any:
        before, creators.building = creators.building, True
        try:
            return Variable(**arguments)
        finally:
            creators.building = before

    make = build
    for creator in creators.stack:
        make = _then(creator, make)
    return make(**kwargs)


def _then(creator: Callable[..., Any], next_creator: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **kwargs: creator(next_creator, **kwargs)


@export("all_variables", "global_variables")
def global_variables(scope: str | None = None) -> list[Any]:
    """Returns the global variables, those shared by all tasks, filtered by scope.

    Args:
        scope: Regular expression that names must match at their start; None takes all.
    """
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


@export("local_variables")
def local_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables private to this process.

    Args:
        scope: Regular expression that names must match at their start; None takes all.
    """
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


@export("trainable_variables")
def trainable_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that optimizers update.

    Args:
        scope: Regular expression that names must match at their start; None takes all.
    """
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


@export("model_variables")
def model_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables of the collection `MODEL_VARIABLES`.

    Args:
        scope: Regular expression that names must match at their start; None takes all.
    """
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


@export("moving_average_variables")
def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that have a moving average.

    Args:
        scope: Regular expression that names must match at their start; None takes all.
    """
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


@export("initialize_variables", "variables_initializer", "initializers.variables")
def variables_initializer(var_list: Sequence[Any], name: str = "init") -> Operation:
    """Returns an operation that initializes the variables.

    Args:
        var_list: The variables to initialize.
    """
    for variable in var_list:
        require_members("var_list", variable, "variables", "initializer")
    return group(*[variable.initializer for variable in var_list], name=name)


@export("global_variables_initializer", "initialize_all_variables", "initializers.global_variables")
def global_variables_initializer() -> Operation:
    """Returns an operation that initializes all global variables."""
    return variables_initializer(global_variables())


@export("initialize_local_variables", "local_variables_initializer", "initializers.local_variables")
def local_variables_initializer() -> Operation:
    """Returns an operation that initializes all local variables."""
    return variables_initializer(local_variables())


all_variables = global_variables
initialize_variables = variables_initializer
initialize_all_variables = global_variables_initializer
initialize_local_variables = local_variables_initializer
