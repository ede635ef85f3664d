"""Reference variables: TensorFlow 1's default, tensors that operations write to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import shapes
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.dtypes import DType
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.ops import gather, references, state
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.scopes import graph_of, init_scope, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.variables import Variable


class RefVariable(Variable, uses_resource=False):
    """A variable that is a tensor of a reference type, which operations take to write to it."""

    _variable = ReadOnly[Tensor]("The reference.", "_handle")
    _snapshot = ReadOnly[Tensor]("The tensor of the value.", "_cached")

    def _ref(self) -> Tensor:
        return self._handle

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
            if from_function:
                # The initial value is computed where the variable is, whatever the current device function says.
                place = {"_class": (f"loc:@{scope.rstrip('/')}",)}
                with graph._attr_scope(place), name_scope("Initializer"), graph.device(None):
                    value = convert_to_tensor(initial_value(), dtype, name="initial_value")
            else:
                value = convert_to_tensor(initial_value, dtype, name="initial_value")
            self.dims = self._variable_shape(value, shape, validate_shape)
            self._handle = references.variable_v2_op(
                shape=self.dims, dtype=value.dtype.base_dtype, container=graph.scopes.container, name=scope
            )
            self._initial_value = value
            self._dtype = self._handle.dtype
            self._graph_element = self._handle
            self._initializer = state.assign_variable_op.operation(
                self._handle, value, validate_shape=validate_shape, name=f"{scope}Assign/"
            )
            place_of_read = (
                graph.colocate_with(self._handle.op) if caching_device is None else graph.device(caching_device)
            )
            with place_of_read:
                self._cached = self._read(name=f"{scope}read/")

    def set_shape(self, shape: ShapeLike) -> None:
        """Merges the given shape into the static shape."""
        super().set_shape(shape)
        self._cached.set_shape(self.dims)

    def _read(self, name: str | None = None) -> Tensor:
        return identity(self._handle, name=name)

    def value(self) -> Tensor:
        """Returns the tensor of the value: it is read after the updates that its consumer depends on."""
        return self._cached

    def read_value(self) -> Tensor:
        """Returns a tensor that reads the variable after the current control dependencies."""
        return self._read(name="read")

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Returns rows of the variable; their gradient is sparse."""
        return gather.gather(self.value(), indices, name=name)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Gathers elements or slices, each addressed by a vector of indices."""
        return gather.gather_nd(self.value(), indices, name=name)

    def _convert(self, value: TensorLike) -> Any:
        return value  # the operation converts it to the type of the reference, under its own name

    def _write(
        self, definition: OpDef, *args: Any, name: str | None = None, read_value: bool = True, **attrs: Any
    ) -> Any:
        assert definition.on_refs is not None
        if "use_locking" not in definition.on_refs.attrs:
            attrs.pop("use_locking", None)
        with (graph_of([self._handle]) or self.graph).as_default():
            written = definition(self._handle, *args, name=name, **attrs)
        return written if read_value else written.op
