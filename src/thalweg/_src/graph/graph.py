"""Graph: the append-only dataflow graph that users build, with its scopes, names and collections."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from thalweg._src.base import errors
from thalweg._src.base.devices import DeviceSpec, canonical_name, merge_devices
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import show
from thalweg._src.graph.building_mode import BuildingMode
from thalweg._src.graph.by_type import complete_attrs
from thalweg._src.graph.default_stacks import default_graph_scope, get_default_session
from thalweg._src.graph.explain import explain_shape_error
from thalweg._src.graph.foreign_ops import find_op
from thalweg._src.graph.graphdef import to_graph_def
from thalweg._src.graph.infer import Inference, WithoutValues
from thalweg._src.graph.names import NAME, SCOPE, as_name
from thalweg._src.graph.op_def import OpDef, output_types
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.private_names import PrivateNames
from thalweg._src.graph.scope_stacks import Context, ControlScope, Scopes
from thalweg._src.graph.source_line import user_stack
from thalweg._src.graph.tensor import Tensor

if TYPE_CHECKING:
    from thalweg._src.graph.function import GraphFunction

_is_name = re.compile(NAME).fullmatch
_TENSOR_NAMES = 'Tensor names must be of the form "<op_name>:<output_index>".'
_is_scope = re.compile(SCOPE).fullmatch


@export("Graph")
class Graph(BuildingMode, PrivateNames):
    """A dataflow graph: operations that may only be added, never changed."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.operations: list[Operation] = []
        self._by_name: dict[str, Operation] = {}
        self._names_in_use: dict[str, int] = {}
        self._collections: dict[Any, list[Any]] = {}
        self.scopes = Scopes()
        self._version = 0
        self.edits = 0  # counts changes other than additions, which make compiled steps stale
        self._finalized = False
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()
        self._seed: int | None = None
        self._functions: dict[str, GraphFunction] = {}
        self._singletons: dict[str, Any] = {}

    # -- operations ---------------------------------------------------------------------------------------------------

    def add(
        self,
        definition: OpDef,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        output_types: Sequence[DType],
        name: str | None = None,
        controls: Sequence[Operation] = (),
    ) -> Operation:
        """Appends an operation under the current scopes; shapes are inferred and checked here."""
        # The order of the steps matters. The name is settled first, since errors and the operations that a context adds
        # refer to it. A context then replaces the inputs by those that it captures, which adds operations of its own.
        # Shapes are inferred while nothing but the new operation knows of its outputs. Only then it enters the lists,
        # consumers and indices: an operation that is refused leaves no trace in them.
        stack = user_stack()
        scopes = self.scopes
        with self._lock:
            if self._finalized:
                self._require_mutable()
            if name is None:
                full_name = self.unique_name(definition.name.lstrip("_"))
            else:
                name = as_name(name)
                full_name = name[:-1] if name.endswith("/") else self.unique_name(name)
            if scopes.controls:
                controls = self._controls_for(inputs, controls)
            if scopes.context is not None:
                inputs, controls = scopes.context.admit(definition, inputs, list(controls), full_name)
            else:
                for tensor in inputs:
                    if tensor.op.context is not None:
                        tensor.op.context.require_outside(definition, inputs, full_name)
                for control in controls:
                    if control.context is not None:
                        control.context.require_outside(definition, controls, full_name)
            if scopes.colocated or scopes.attributes or scopes.gradient_overrides:
                self._scoped_attrs(definition, attrs)
            operation = Operation(self, definition, full_name, inputs, list(controls), attrs, scopes.device, stack)
            operation.context = scopes.context
            outputs = operation.outputs
            for index, dtype in enumerate(output_types):
                outputs.append(Tensor(operation, index, dtype))
            self._infer_shapes(operation)
            # A function as the value of a scope's attribute reads the NodeDef, which exists once the operation does.
            for key, value in scopes.attributes.items():
                if callable(value):
                    attrs[key] = value(operation.node_def)
            # Creation order is a topological order, except for the back edges of loops and rewired inputs; gradients,
            # functions and serialization rely on it.
            operation.id = len(self.operations)
            self.operations.append(operation)
            self._by_name[full_name] = operation
            self._version += 1
            for tensor in inputs:
                tensor._consumers.append(operation)
            for control in controls:
                control._control_outputs.append(operation)
            for scope in scopes.controls:
                scope.created.add(operation)
            if scopes.colocated and scopes.colocated[-1].device:
                operation.device = scopes.colocated[-1].device
            if scopes.device_functions:
                self._apply_device_functions(operation)
        return operation

    @contextlib.contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Removes the operations that were added inside if an exception ends the block; other threads wait for it."""
        with self._lock:
            # A graph only grows, so undoing is truncation. The lock is held for the whole block: no operation of
            # another thread can stand behind the mark.
            count, names = len(self.operations), dict(self._names_in_use)
            try:
                yield
            except BaseException:
                self._remove_after(count)
                self._names_in_use = names
                raise

    def _remove_after(self, count: int) -> None:
        removed = self.operations[count:]
        del self.operations[count:]
        for operation in removed:
            del self._by_name[operation.name]
        # Nothing older can consume a removed tensor; what is left are the older tensors' lists of removed consumers.
        for tensor in {tensor for operation in removed for tensor in operation.inputs}:
            tensor._consumers = [consumer for consumer in tensor._consumers if consumer.id < count]
        for control in {control for operation in removed for control in operation._control_inputs}:
            control._control_outputs = [follower for follower in control._control_outputs if follower.id < count]
        if removed:
            self._changed()

    def _infer_shapes(self, operation: Operation) -> None:
        definition, outputs = operation.definition, operation.outputs
        inputs = operation.inputs
        try:
            inferred = definition.infer(Inference(definition, operation.attrs, inputs, len(outputs)))
            for tensor, shape in zip(outputs, inferred, strict=True):
                tensor.dims = shape
        except errors.ShapeError as error:
            # A branch is built even if its condition is never true. There, constants that contradict each other are no
            # error of the program, as they are outside: tf.cond on a static rank often has one side that cannot work.
            if operation.context is not None and self._infer_without_values(operation):
                return
            text = explain_shape_error(error, operation, [(t.name, t.dtype.name, show(t.dims)) for t in inputs])
            self._names_in_use.pop(operation.name.lower(), None)
            raise ValueError(text) from None

    def _infer_without_values(self, operation: Operation) -> bool:
        """Infers shapes again for an operation that may never run; returns whether only values were inconsistent."""
        definition, outputs = operation.definition, operation.outputs
        try:
            inferred = definition.infer(WithoutValues(definition, operation.attrs, operation.inputs, len(outputs)))
        except errors.ShapeError:
            return False
        for tensor, shape in zip(outputs, inferred, strict=True):
            tensor.dims = None if shape is None else (None,) * len(shape)  # sizes would be as wrong as the values
        return True

    def _controls_for(self, inputs: list[Tensor], explicit: Sequence[Operation]) -> list[Operation]:
        """Returns the control inputs of a new operation; a scope adds none if an input was created inside it."""
        # An input that was created in the scope already waits for its controls, and so does the new operation by way of
        # it. To leave the edge out keeps graphs equal to TensorFlow's and the number of edges linear in long chains. An
        # operation that produces an input needs no second edge.
        controls = dict.fromkeys(explicit)
        for scope in reversed(self.scopes.controls):
            if scope.controls and not any(t.op in scope.created for t in inputs):
                controls.update(dict.fromkeys(scope.controls))
        producers = {t.op for t in inputs}
        return [op for op in controls if op not in producers]

    def _scoped_attrs(self, definition: OpDef, attrs: dict[str, Any]) -> None:
        scopes = self.scopes
        if scopes.colocated:
            groups = {group.decode() for op in scopes.colocated for group in op.colocation_groups()}
            attrs["_class"] = tuple(sorted(groups | set(attrs.get("_class", ()))))
        attrs.update((key, value) for key, value in scopes.attributes.items() if not callable(value))
        if definition.name in scopes.gradient_overrides:
            attrs["_gradient_op_type"] = scopes.gradient_overrides[definition.name]

    def _apply_device_functions(self, operation: Operation) -> None:
        # From the innermost scope outwards: a string fills in the fields that are still open, a function decides alone
        # from what the scopes inside of it have set, None hides everything further out.
        colocated = self.scopes.colocated
        operation.device = colocated[-1].device if colocated else ""
        for entry in reversed(self.scopes.devices):
            if entry is None:
                break
            if callable(entry):
                chosen = entry(operation)
                chosen = chosen.to_string() if isinstance(chosen, DeviceSpec) else chosen
                operation.device = canonical_name(chosen) if chosen else ""
            else:
                operation.device = merge_devices(entry, operation.device)

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Sequence[Any] | None = None,
        input_types: Sequence[DTypeLike] | None = None,
        name: str | None = None,
        attrs: dict[str, Any] | None = None,
        op_def: object = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Adds an operation by its op type; the constructors in `thalweg._src.graph.ops` are the usual way."""
        function = self._functions.get(op_type)
        definition = find_op(op_type) if function is None else function.definition
        complete = complete_attrs(definition, inputs, attrs or {}, name, self._functions)
        return self.add(definition, list(inputs), complete, output_types(definition, complete), name)

    def get_operations(self) -> list[Operation]:
        """Returns all operations, in the order of their creation."""
        return list(self.operations)

    version = ReadOnly[int]("A number that increases with each change of the graph.")

    def _changed(self) -> None:
        self._version += 1
        self.edits += 1

    finalized = ReadOnly[bool]("Whether the graph is read-only.")

    def finalize(self) -> None:
        """Forbids further additions, so that a training loop cannot grow its graph by mistake."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    def _require_mutable(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    # -- look-up ------------------------------------------------------------------------------------------------------

    def as_graph_element(self, obj: object, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """Returns the tensor or operation of this graph that an object or a name refers to."""
        expected = " or ".join(k for k, on in (("Tensor", allow_tensor), ("Operation", allow_operation)) if on)
        if isinstance(obj, str):
            return self._by_string(obj, allow_tensor, allow_operation)
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            obj = convert()
        if (isinstance(obj, Tensor) and allow_tensor) or (isinstance(obj, Operation) and allow_operation):
            if obj.graph is not self:
                raise ValueError(f"{type(obj).__name__} {obj} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {expected}.")

    def _by_string(self, name: str, allow_tensor: bool, allow_operation: bool) -> Any:
        op_name, colon, index = name.rpartition(":")
        if colon and allow_tensor:
            if not index.isdigit() or not op_name:
                raise ValueError(
                    f"The name {name!r} looks a like a Tensor name, but is not a valid one. {_TENSOR_NAMES}"
                )
            operation = self._by_name.get(op_name)
            if operation is None:
                reason = "does not exist in the graph"
            elif int(index) >= len(operation.outputs):
                reason = f"exists but only has {len(operation.outputs)} outputs"
            else:
                return operation.outputs[int(index)]
            text = f"The name {name!r} refers to a Tensor which does not exist."
            raise KeyError(f"{text} The operation, {op_name!r}, {reason}.")
        if colon:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation: drop the ':{index}'.")
        if not allow_operation:
            what = "refers to an Operation" if name in self._by_name else "looks like an (invalid) Operation name"
            raise ValueError(f"The name {name!r} {what}, not a Tensor. {_TENSOR_NAMES}")
        if name not in self._by_name:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return self._by_name[name]

    def get_operation_by_name(self, name: str) -> Operation:
        """Returns the operation with a name."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False)  # type: ignore[no-any-return]

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Returns the tensor with a name, such as "add:0"."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_operation=False)  # type: ignore[no-any-return]

    # -- names --------------------------------------------------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Returns the name under the current scope, with a numeric suffix if it is taken (case is ignored)."""
        if not _is_name(name) and not (self.scopes.name and _is_scope(name)):
            raise ValueError(f"{name!r} is not a valid node name")
        scope = self.scopes.name
        if scope:
            name = f"{scope}/{name}"
        # Names that differ in case only would collide in file systems, hence one counter for both. The counter of a
        # name is where its search for a free suffix starts, which keeps n equal names from taking n * n look-ups; the
        # loop is still needed, since a program may have named an operation `x_1` itself.
        key = name.lower()
        used = self._names_in_use
        count = used.get(key, 0)
        if mark_as_used:
            used[key] = count + 1
        if count == 0:
            return name
        base = key
        while key in used:
            key = f"{base}_{count}"
            count += 1
        if mark_as_used:
            used[key] = 1
            used[base] = count
        return f"{name}_{count - 1}"

    @contextlib.contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Prefixes the names of operations created inside; a name that ends in '/' re-enters that exact scope."""
        scopes, name = self.scopes, as_name(name) if name else None
        if name and not (_is_scope if scopes.name else _is_name)(name):
            raise ValueError(
                f"{name!r} is not a valid scope name: expected letters, digits and . _ - / (at the top not _ - / first)"
            )
        before = scopes.name
        if not name:
            scopes.name = ""
        elif name.endswith("/"):
            scopes.name = name[:-1]
        else:
            scopes.name = self.unique_name(name)
        try:
            yield scopes.name + "/" if scopes.name else ""
        finally:
            scopes.name = before

    def get_name_scope(self) -> str:
        """Returns the current name scope."""
        return self.scopes.name

    # -- scopes -------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def device(self, device_name_or_function: str | DeviceSpec | Callable[..., Any] | None) -> Iterator[None]:
        """Requests a device for operations created inside: a string, DeviceSpec, function of the operation, or None."""
        entry = device_name_or_function
        if entry is not None and not callable(entry):
            entry = canonical_name(entry)
        scopes = self.scopes
        before = scopes.device, scopes.device_functions
        scopes.devices.append(entry)
        # Combined here, once per scope, not once per operation; only functions have to be asked for each.
        self._combine_devices()
        try:
            yield
        finally:
            scopes.devices.pop()
            scopes.device, scopes.device_functions = before

    def _combine_devices(self) -> None:
        scopes = self.scopes
        scopes.device, scopes.device_functions = "", False
        for entry in reversed(scopes.devices):
            if entry is None:
                break
            if callable(entry):
                scopes.device_functions = True
            else:
                scopes.device = merge_devices(entry, scopes.device)

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Iterable[object] | None) -> Iterator[None]:
        """Makes operations created inside run after all of the given ones; None clears the enclosing blocks.

        It also leaves branches and loops, so that a variable created in one can be initialized outside.
        """
        if control_inputs is None:
            with self.control_flow(None):
                yield
            return
        controls: dict[Operation, None] = {}
        for element in control_inputs:
            element = element._as_graph_element() if hasattr(element, "_as_graph_element") else element
            element = getattr(element, "op", element) if not isinstance(element, Operation) else element
            element = self.as_graph_element(element)
            operation = element.op if isinstance(element, Tensor) else element
            controls[operation] = None
        scope = ControlScope(list(controls))
        self.scopes.controls.append(scope)
        try:
            yield
        finally:
            self.scopes.controls.pop()

    @contextlib.contextmanager
    def colocate_with(self, op: object, ignore_existing: bool = False) -> Iterator[None]:
        """Places operations created inside on the device of `op`."""
        scopes = self.scopes
        before = scopes.colocated, scopes.devices, scopes.device, scopes.device_functions
        operation = None if op is None else getattr(op, "op", op)
        if operation is None or ignore_existing:
            scopes.colocated = []
        if operation is not None:
            # The operation's device replaces those of the scopes around; scopes opened inside of this one count again.
            scopes.colocated = [*scopes.colocated, self.as_graph_element(operation, allow_tensor=False)]
            scopes.devices, scopes.device, scopes.device_functions = [], "", False
        try:
            yield
        finally:
            scopes.colocated, scopes.devices, scopes.device, scopes.device_functions = before

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Sets the resource container of stateful operations created inside."""
        before, self.scopes.container = self.scopes.container, container_name
        try:
            yield container_name
        finally:
            self.scopes.container = before

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Makes operations created inside use the gradient registered under another name."""
        before = self.scopes.gradient_overrides
        self.scopes.gradient_overrides = {**before, **op_type_map}
        try:
            yield
        finally:
            self.scopes.gradient_overrides = before

    @contextlib.contextmanager
    def control_flow(self, context: Context | None) -> Iterator[None]:
        """Makes operations created inside belong to a branch, a loop or neither, without outer control dependencies."""
        scopes = self.scopes
        before = scopes.context, scopes.controls
        # Outer control dependencies must not reach operations of a branch or a loop directly, since an edge into a
        # frame would never be satisfied. The context attaches them to the operations by which values enter.
        scopes.context, scopes.controls = context, []
        try:
            yield
        finally:
            scopes.context, scopes.controls = before

    def _get_control_flow_context(self) -> Context | None:
        return self.scopes.context

    @contextlib.contextmanager
    def _attr_scope(self, attr_map: dict[str, Any]) -> Iterator[None]:
        before = self.scopes.attributes
        self.scopes.attributes = {**before, **attr_map}
        try:
            yield
        finally:
            self.scopes.attributes = before

    # -- collections --------------------------------------------------------------------------------------------------

    def add_to_collection(self, name: Hashable, value: object) -> None:
        """Adds a value to a collection."""
        self._require_mutable()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Iterable[Hashable], value: object) -> None:
        """Adds a value to several collections."""
        for name in dict.fromkeys((names,) if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Hashable) -> list[Any]:
        """Returns the list of a collection itself, so that changes to it change the collection."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Hashable, scope: str | None = None) -> list[Any]:
        """Returns a copy of a collection, or of those members whose names match the scope from the beginning."""
        members = self._collections.get(name, [])
        if scope is None:
            return list(members)
        # Matched from the beginning only, as in TensorFlow: a prefix is a valid scope, and so is any regular
        # expression.
        pattern = re.compile(scope)
        return [member for member in members if hasattr(member, "name") and pattern.match(member.name)]

    def get_all_collection_keys(self) -> list[str]:
        """Returns the names of the collections that are not empty."""
        return [key for key, members in self._collections.items() if isinstance(key, str) and members]

    @property
    def collections(self) -> list[str]:
        """The names of all collections."""
        return list(self._collections)

    def clear_collection(self, name: Hashable) -> None:
        """Removes all values of a collection."""
        self._require_mutable()
        self._collections.pop(name, None)

    def singleton(self, key: str, make: Callable[[], Any]) -> Any:
        """Returns an object owned by this graph, created on first use: variable store, random seeds, functions."""
        with self._lock:
            if key not in self._singletons:
                self._singletons[key] = make()
            return self._singletons[key]

    # -- seeds, feeding and fetching ----------------------------------------------------------------------------------

    @property
    def seed(self) -> int | None:
        """The random seed of the graph."""
        return self._seed

    @seed.setter
    def seed(self, value: int | None) -> None:
        self._seed = value

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Marks a tensor as not feedable."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Returns whether a tensor can be fed."""
        return tensor not in self._unfeedable and not _is_in_loop(tensor.op)

    def prevent_fetching(self, op: Operation) -> None:
        """Marks an operation as not fetchable."""
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        """Returns whether a tensor or operation can be fetched."""
        operation = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return operation not in self._unfetchable and not _is_in_loop(operation)

    def session_for(self, session: Any, name: str) -> Any:
        """Returns the session to evaluate in: the given one or the default one, which must be of this graph."""
        which, session = "given" if session else "default", session or get_default_session()
        what, call = ("evaluate tensor", "eval") if ":" in name else ("execute operation", "run")
        if session is None:
            raise ValueError(
                f"Cannot {what} using `{call}()`: No default session is registered. Use `with sess.as_default()` "
                f"or pass an explicit session to `{call}(session=sess)` for {name!r}"
            )
        if session.graph is not self:
            thing = what.split()[-1]
            raise ValueError(
                f"Cannot use the {which} session to {what}: the {thing}'s graph is "
                f"different from the session's graph. Pass an explicit session to `{call}(session=sess)` for {name!r}."
            )
        return session

    # -- default graph ------------------------------------------------------------------------------------------------

    def as_default(self) -> contextlib.AbstractContextManager[Graph]:
        """Makes this graph the default, to which operations without inputs are added."""
        return default_graph_scope(self)

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """Returns the graph as a GraphDef message that TensorFlow reads."""
        return to_graph_def(self, add_shapes)


def _is_in_loop(operation: Operation) -> bool:
    """Returns whether an operation has one value per iteration of a loop, instead of one per step."""
    return operation.context is not None and operation.context.in_loop
