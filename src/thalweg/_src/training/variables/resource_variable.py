"""Resource variables: variables that operations address by a handle."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any

from thalweg._src.base import shapes
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.ops import state
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.scopes import control_dependencies, graph_of, init_scope, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.runtime.eager.execute import AS_TENSOR
from thalweg._src.runtime.eager.lift import lifted
from thalweg._src.runtime.eager.tape import variable_accessed
from thalweg._src.runtime.eager.variables import new_handle, read_variable
from thalweg._src.training.variables.sessions import SessionLike
from thalweg._src.training.variables.variables import Variable


@export("contrib.eager.Variable")
class ResourceVariable(Variable, uses_resource=True):
    """A variable whose reads are operations of their own, ordered by control dependencies."""

    handle = ReadOnly[Tensor]("The tensor of the resource.")

    def _add_operations(
        self,
        initial_value: Any,
        name: str | None,
        dtype: DType | None,
        shape: shapes.Shape,
        validate_shape: bool,
        caching_device: str | DeviceSpec | Callable[..., Any] | None,
    ) -> None:
        from_function = callable(initial_value)
        values = [] if from_function else [initial_value]
        with name_scope(name, "Variable", values) as scope, init_scope():
            graph = get_default_graph()
            handle_name = scope.rstrip("/")
            if graph.executes:
                self._create(
                    initial_value() if from_function else initial_value, handle_name, dtype, shape, validate_shape
                )
                return
            with graph._attr_scope({"_class": (f"loc:@{handle_name}",)}):
                # The initial value is computed where the variable is, whatever the current device function says.
                with name_scope("Initializer"), graph.device(None):
                    value = initial_value() if from_function else initial_value
                    value = convert_to_tensor(value, dtype, name="initial_value")
                shape = self._variable_shape(value, shape, validate_shape)
                self._handle = state.var_handle_op(
                    container=graph.scopes.container,
                    shared_name=handle_name,
                    dtype=value.dtype.base_dtype,
                    shape=shape,
                    name=scope,
                )
            self._initial_value = value
            self._dtype = value.dtype.base_dtype
            self.dims = shape
            with self._at_handle():
                with name_scope("IsInitialized"):
                    self._is_initialized = state.var_is_initialized_op(self._handle)
                self._initializer = state.assign_variable_op.operation(self._handle, value, name=f"{scope}Assign/")
                with name_scope("Read"):
                    self._graph_element = self._read()
            self._cached: Tensor | None = None
            if caching_device is not None:
                with graph.colocate_with(None, ignore_existing=True), graph.device(caching_device):
                    self._cached = identity(self._graph_element)

    def _create(
        self,
        initial_value: Any,
        name: str,
        dtype: DType | None,
        shape: shapes.Shape,
        validate_shape: bool,
    ) -> None:
        """Creates the variable of eager execution, which is freed with this object."""
        value = convert_to_tensor(initial_value, dtype)
        if not value.is_eager:
            value = lifted(value)
        self._dtype = value.dtype.base_dtype
        self.dims = self._variable_shape(value, shape, validate_shape)
        self._shared = name
        self._initializer = self._cached = None  # type: ignore[assignment]
        self._handle = new_handle(name, self._dtype, self.dims)
        state.assign_variable_op.operation(self._handle, value)

    # -- eager execution ----------------------------------------------------------------------------------------------

    def _require_graph(self, what: str) -> None:
        if self._handle.is_eager:
            raise RuntimeError(f"{what} of {self.name!r}: not supported when eager execution is enabled.")

    @property
    def initial_value(self) -> Tensor:  # type: ignore[override]
        """The tensor of the initial value."""
        self._require_graph("initial_value")
        return self._initial_value

    @property
    def create(self) -> Any:  # type: ignore[override]
        """The operation that initializes the variable."""
        self._require_graph("create")
        return self._initializer

    def initialized_value(self) -> Tensor:
        """Returns the value, or the initial value before initialization, for initializers that use variables."""
        return self.read_value() if self._handle.is_eager else super().initialized_value()

    def eval(self, session: SessionLike | None = None) -> Any:
        """Evaluates the variable in the given or the default session."""
        self._require_graph("eval")
        return super().eval(session)

    def load(self, value: TensorLike, session: SessionLike | None = None) -> None:
        """Assigns a value, in a session without adding operations to the graph."""
        if self._handle.is_eager:
            self.assign(value)
        else:
            super().load(value, session)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the variable as a VariableDef message; None if it is outside the scope."""
        self._require_graph("to_proto")
        return super().to_proto(export_scope)

    def __bool__(self) -> bool:
        return bool(self.read_value())

    def __int__(self) -> int:
        return int(self.read_value())

    def __float__(self) -> float:
        return float(self.read_value())

    def __complex__(self) -> complex:
        return complex(self.read_value())

    def __index__(self) -> int:
        return operator.index(self.read_value())

    def __iadd__(self, other: TensorLike) -> Any:
        """Fails in eager execution, where the name would silently denote a tensor afterwards."""
        self._refuse_in_place("+=", "assign_add")
        return super().__iadd__(other)

    def __isub__(self, other: TensorLike) -> Any:
        self._refuse_in_place("-=", "assign_sub")
        return super().__isub__(other)

    def _refuse_in_place(self, operation: str, method: str) -> None:
        if self._handle.is_eager:
            raise RuntimeError(
                f"Variable {operation} value not supported. Use variable.{method}(value) to modify the variable value "
                f"and variable = variable {operation[0]} value to get a new Tensor object."
            )

    def __deepcopy__(self, memo: dict[int, Any]) -> ResourceVariable:
        """Returns another variable with the same name and value; only in eager execution."""
        if not self._handle.is_eager:
            raise NotImplementedError("__deepcopy__() is only available when eager execution is enabled.")
        copied = memo[id(self)] = copy.copy(self)
        copied._create(self.read_value(), self._shared_name, self._dtype, self.dims, True)
        return copied

    # -- reading ------------------------------------------------------------------------------------------------------

    def _read(self, name: str | None = None) -> Tensor:
        if stacks.is_eager and self._handle.is_eager:
            return read_variable(self)
        if self._handle.is_eager:
            variable_accessed(self)
        value = state.read_variable_op(self._handle, dtype=self._dtype, name=name)
        if value.dims != self.dims:
            value.dims = shapes.merge(value.dims, self.dims)
        return value

    def value(self) -> Tensor:
        """Returns a tensor with the value when it runs: a new read each time, so that control dependencies apply."""
        if self._cached is not None:
            return self._cached
        with self._at_handle():
            return self._read()

    def read_value(self) -> Tensor:
        """Returns a tensor that reads the variable after the current control dependencies."""
        with name_scope("Read"):
            with self._at_handle():
                value = self._read()
            return identity(value)

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Returns rows of the variable; their gradient is sparse."""
        with name_scope(name, "Gather") as scope, self._at_handle():
            if self._handle.is_eager:
                variable_accessed(self)
            return state.resource_gather(self._handle, indices, dtype=self._dtype, name=scope)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Gathers elements or slices, each addressed by a vector of indices."""
        with name_scope(name, "GatherNd") as scope, self._at_handle():
            if self._handle.is_eager:
                variable_accessed(self)
            return state.resource_gather_nd(self._handle, indices, dtype=self._dtype, name=scope)

    def _write(
        self,
        definition: OpDef,
        *args: Any,
        name: str | None = None,
        read_value: bool = True,
        use_locking: bool | None = None,
        **attrs: Any,
    ) -> Any:
        if stacks.is_eager or (self._handle.is_eager and get_default_graph().is_ordered):
            if definition is state.assign_variable_op:
                self.shape.assert_is_compatible_with(args[0].shape)
            write = definition.operation(self._handle, *args, name=name, **attrs)
            return self if read_value else write
        with (graph_of([self._handle]) or get_default_graph()).as_default(), self._at_handle():
            write = definition.operation(self._handle, *args, name=name, **attrs)
            if not read_value:
                return write
            with control_dependencies([write]):
                value: Any = self._read()
            value._variable = self
            return value


def is_resource_variable(var: object) -> bool:
    """Returns whether operations address a variable by a handle."""
    return isinstance(var, ResourceVariable)


AS_TENSOR[ResourceVariable] = ResourceVariable.value
