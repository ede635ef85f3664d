"""Resource variables: variables that operations address by a handle."""

from __future__ import annotations

from typing import Any

from thalweg._src import shapes
from thalweg._src.dtypes import DType
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.scopes import control_dependencies, graph_of, init_scope, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.ops import state
from thalweg._src.ops.identity import identity
from thalweg._src.read_only import ReadOnly
from thalweg._src.variables.variables import Variable


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
        caching_device: Any,
    ) -> None:
        from_function = callable(initial_value)
        values = [] if from_function else [initial_value]
        with name_scope(name, "Variable", values) as scope, init_scope():
            graph = get_default_graph()
            handle_name = scope.rstrip("/")
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

    def _read(self, name: str | None = None) -> Tensor:
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
            return state.resource_gather(self._handle, indices, dtype=self._dtype, name=scope)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Gathers elements or slices, each addressed by a vector of indices."""
        with name_scope(name, "GatherNd") as scope, self._at_handle():
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
        with (graph_of([self._handle]) or self.graph).as_default(), self._at_handle():
            write = definition.operation(self._handle, *args, name=name, **attrs)
            if not read_value:
                return write
            with control_dependencies([write]):
                value: Any = self._read()
            value._variable = self
            return value


def is_resource_variable(var: Any) -> bool:
    """Returns whether operations address a variable by a handle."""
    return isinstance(var, ResourceVariable)
