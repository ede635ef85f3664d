"""Operation: a node of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thalweg._src.base.devices import DeviceSpec, canonical_name
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.base.formats.message_types import Message
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph.graph_def_checks import read_attr
from thalweg._src.graph.graphdef import node_def
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.source_line import Stack, made_at

if TYPE_CHECKING:
    from thalweg._src.graph.graph import Graph
    from thalweg._src.graph.scope_stacks import Context
    from thalweg._src.graph.tensor import Tensor


@export("Operation")
class Operation:
    """A node: an op type with its attributes, inputs and output tensors.

    Args:
        graph: The graph it belongs to.
        definition: The op's `OpDef`.
        name: Its name, unique in the graph.
        inputs: Its input tensors.
        attrs: Attributes by name.
        device: The requested device, as a string.
        stack: The lines of user code that made the operation.
    """

    # A graph may have hundreds of thousands of operations: slots take less memory and time than a dictionary for each.
    __slots__ = (
        "__weakref__",
        "_control_inputs",
        "_control_outputs",
        "attrs",
        "context",
        "definition",
        "device",
        "graph",
        "id",
        "inputs",
        "name",
        "outputs",
        "stack",
    )
    type = ReadOnly[str]("The type of the operation.", "definition.name")
    op_def = ReadOnly[OpDef]("The OpDef of the operation.", "definition")
    # Names that TensorFlow 1 programs read, although they are not public.
    _id = ReadOnly[int]("The creation index, by which programs sort operations.", "id")
    _id_value = ReadOnly[int]("The creation index.", "id")
    _graph = ReadOnly["Graph"]("The graph of the operation.", "graph")
    _outputs = ReadOnly["list[Tensor]"]("The output tensors.", "outputs")
    _inputs = ReadOnly["list[Tensor]"]("The input tensors.", "inputs")
    _node_def = ReadOnly[Any]("The NodeDef of the operation.", "node_def")
    _op_def = ReadOnly[OpDef]("The OpDef of the operation.", "definition")
    _control_flow_context = ReadOnly["Context | None"]("The branch or loop that the operation belongs to.", "context")

    def __init__(
        self,
        graph: Graph,
        definition: OpDef,
        name: str,
        inputs: list[Tensor],
        control_inputs: list[Operation],
        attrs: dict[str, Any],
        device: str,
        stack: Stack,
    ) -> None:
        self.graph = graph
        self.definition = definition
        self.name = name
        self.inputs = inputs
        self._control_inputs = control_inputs
        self._control_outputs: list[Operation] = []
        self.attrs = attrs
        self.device = device
        self.stack = stack
        # Set by the graph as it adds the operation.
        self.context: Context | None = None
        self.id = -1
        self.outputs: list[Tensor] = []

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that run before this one."""
        return list(self._control_inputs)

    @property
    def traceback(self) -> list[tuple[str, int, str, None]]:
        """Returns (file, line, function, None) of the user's frames, outermost first."""
        return [(code.co_filename, line, code.co_name, None) for code, line in reversed(self.stack)]

    @property
    def made_at(self) -> str | None:
        """The source line that created the operation, as text; None if it is unknown."""
        return made_at(self.stack)

    @property
    def node_def(self) -> Any:
        """The NodeDef of the operation."""
        return node_def(self)

    def get_attr(self, name: str) -> Any:
        """Returns an attribute in TensorFlow's form: strings as bytes, shapes as TensorShape."""
        return attr_value(self, name)

    def values(self) -> tuple[Tensor, ...]:
        """Returns the output tensors."""
        return tuple(self.outputs)

    def colocation_groups(self) -> list[bytes]:
        """Returns the colocation groups of this operation; by default its own."""
        # An operation that names no group leads one of its own, which others join by its name.
        groups = [name.encode() for name in self.attrs.get("_class", ()) if name.startswith("loc:@")]
        return groups or [f"loc:@{self.name}".encode()]

    def _get_control_flow_context(self) -> Context | None:
        """Returns the branch or loop that the operation belongs to."""
        return self.context

    @property
    def _input_types(self) -> list[DType]:
        """The types of the inputs."""
        return [tensor.dtype for tensor in self.inputs]

    @property
    def _output_types(self) -> list[int]:
        """The types of the outputs, as numbers of DataType."""
        return [tensor.dtype.as_datatype_enum for tensor in self.outputs]

    def _get_attr(self, name: str) -> Any:
        return self.get_attr(name)

    def _set_attr(self, attr_name: str, attr_value: Message) -> None:
        """Sets an attribute to that of an AttrValue, such as `_gradient_op_type`."""
        self.graph._require_mutable()
        # Compiled steps contain the attributes as they were; a change of the graph makes them stale.
        attr_def = self.definition.attrs.get(attr_name)
        self.attrs[attr_name] = read_attr(attr_value, None if attr_def is None else attr_def.kind)
        self.graph._changed()

    def _update_input(self, index: int, tensor: Tensor) -> None:
        """Replaces an input by a tensor of the same graph and type."""
        self.graph._require_mutable()
        if tensor.graph is not self.graph:
            raise ValueError(f"{tensor.name!r} belongs to a different graph than {self.name!r}")
        if tensor.dtype.base_dtype != self.inputs[index].dtype.base_dtype:
            raise TypeError(
                f"input {index} of {self.name!r} is of type {self.inputs[index].dtype.name}, not {tensor.dtype.name}"
            )
        self._replace_input(index, tensor)
        self.graph._changed()

    def _remove_all_control_inputs(self) -> None:
        self.graph._require_mutable()
        for operation in self._control_inputs:
            operation._control_outputs.remove(self)
        self._control_inputs.clear()
        self.graph._changed()

    def _replace_input(self, index: int, tensor: Tensor) -> None:
        """Replaces an input: the back edge of a loop is added after the node it leads to."""
        # An operation is in the list once for each input that it reads, and leaves it once.
        self.inputs[index]._consumers.remove(self)
        self.inputs[index] = tensor
        tensor._consumers.append(self)

    def run(self, feed_dict: dict[Any, Any] | None = None, session: Any = None) -> None:
        """Runs the operation in the given or the default session."""
        self.graph.session_for(session, self.name).run(self, feed_dict)

    def _set_device(self, device: str | DeviceSpec | None) -> None:
        self.graph._require_mutable()
        self.device = canonical_name(device if isinstance(device, str) else device.to_string()) if device else ""
        self.graph._changed()

    def _add_control_input(self, operation: Operation) -> None:
        self._add_control_inputs([operation])

    def _add_control_inputs(self, operations: list[Operation]) -> None:
        self.graph._require_mutable()
        for operation in operations:
            if operation.graph is not self.graph:
                raise ValueError(f"{operation.name!r} belongs to a different graph than {self.name!r}")
            if operation not in self._control_inputs:
                self._control_inputs.append(operation)
                operation._control_outputs.append(self)
        self.graph._changed()

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __str__(self) -> str:
        return str(self.node_def)


def attr_value(operation: Any, name: str) -> Any:
    """Returns an attribute of an operation in TensorFlow's form: strings as bytes, shapes as TensorShape."""
    try:
        value = operation.attrs[name]
    except KeyError:
        raise ValueError(f"Operation {operation.name!r} has no attr named {name!r}.") from None
    kind = operation.definition.attrs[name].kind if name in operation.definition.attrs else ""
    # Operations store Python's forms; programs written for TensorFlow expect those of the protocol message.
    if kind == "shape":
        return TensorShape(value)
    if kind.endswith(("func", "func)")):
        message = operation.node_def.attr[name]
        return message.func if kind == "func" else list(message.list.func)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, tuple):
        return [item.encode() if isinstance(item, str) else item for item in value]
    return np.array(value) if isinstance(value, np.ndarray) else value
