"""FunctionGraph: the body of a function, a graph of its own that captures the tensors of outer graphs that it uses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.automatic_control import Order
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor

_OF_VARIABLES = ("variables", "local_variables", "trainable_variables")  # collections that are shared with outer graphs


class FunctionGraph(Graph):
    """The body of a function; tensors of outer graphs that it uses are captured.

    outer: the graph around the function; None for a body that was read from a GraphDef, which captures nothing
    ordered: whether operations with effects run in the order of the program
    """

    captures = True

    def __init__(self, outer: Graph | None = None, ordered: bool = False) -> None:
        super().__init__()
        self.outer = outer
        self.is_ordered = ordered
        self.order = Order() if ordered else None
        self.constants: dict[Tensor, Tensor] = {}  # eager tensors that need not be passed: handles, small integers
        self.variables: dict[int, Any] = {}  # those that the body reads, by identity
        self.captured: dict[Tensor, Tensor] = {}  # tensors of the outer graph -> their placeholders here
        self.origins: dict[Tensor, Tensor] = {}  # the inverse
        self._seed = None if outer is None else outer.seed
        if outer is not None and not outer.executes:
            self._collections = {key: outer.get_collection(key) for key in outer.collections}
            self._collections.update((key, outer.get_collection_ref(key)) for key in _OF_VARIABLES)

    def add(
        self,
        definition: OpDef,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        output_types: Sequence[DType],
        name: str | None = None,
        controls: Sequence[Operation] = (),
    ) -> Operation:
        """Appends an operation, whose inputs may be tensors of the outer graph."""
        captured = [t if not t.is_eager and t.op.graph is self else self.capture(t) for t in inputs]
        if self.order is None:
            return super().add(definition, captured, attrs, output_types, name, controls)
        producers = {tensor.op for tensor in captured}
        # A producer of an input precedes by its data edge, and needs no control edge.
        before = dict.fromkeys([*controls, *self.order.before(definition, captured, attrs)])
        controls = [operation for operation in before if operation not in producers]
        operation = super().add(definition, captured, attrs, output_types, name, controls)
        self.order.added(operation, captured)
        return operation

    @contextlib.contextmanager
    def block(self) -> Iterator[Order | None]:
        """Context manager: builds a branch or a loop, whose effects are ordered among themselves."""
        before = self.order
        self.order = None if before is None else before.inside()
        try:
            yield self.order
        finally:
            self.order = before

    def close(self, blocks: Iterable[Order | None], results: Sequence[Tensor]) -> None:
        """Notes that a conditional or a loop is complete: what comes later waits for its results."""
        if self.order is not None:
            self.order.close([block for block in blocks if block is not None], [tensor.op for tensor in results])

    @property
    def effects(self) -> Sequence[Operation]:  # type: ignore[override]
        """What must run in the branch or loop that is being built, or in the whole function."""
        return () if self.order is None else self.order.effects

    @property
    def accesses(self) -> Sequence[Operation]:  # type: ignore[override]
        """What reads or changes state in the branch or loop that is being built: later writes wait for it."""
        return () if self.order is None else [*self.order.effects, *self.order.reads]

    def argument(self, dtype: DType, shape: Shape, name: str = "args") -> Tensor:
        """Returns a new argument of the function: a placeholder outside of all scopes."""
        with self.name_scope(None), self.control_flow(None), self.device(None):
            return self.create_op("Placeholder", [], attrs={"dtype": dtype, "shape": shape}, name=name).outputs[0]

    def inner(self, tensor: Tensor) -> Tensor:
        """Returns what stands for a tensor of an outer graph in this one; the tensor itself if nothing does."""
        if tensor.is_eager or tensor.op.graph is self:
            return tensor
        if tensor.op.graph is not self.outer and isinstance(self.outer, FunctionGraph):
            tensor = self.outer.inner(tensor)
        return self.captured.get(tensor, tensor)

    def capture(self, tensor: Tensor) -> Tensor:
        """Returns the placeholder of a captured tensor of an outer graph."""
        if not tensor.is_eager and tensor.op.graph is self:
            return tensor
        # In this order: what needs no passing, such as small constants and handles, becomes an operation of this graph.
        # A tensor from further out is captured by every function in between, each of which then passes it on. Constants
        # are copied, so that shapes and folding see their values. All else becomes an argument, one for each captured
        # tensor.
        inner = self.constants.get(tensor)
        if inner is not None:
            return inner
        if tensor.is_eager:
            with self.name_scope(None), self.control_flow(None), self.device(None):
                embedded = tensor.as_operation(self)  # type: ignore[attr-defined]
            if embedded is not None:
                self.constants[tensor] = embedded
                return embedded  # type: ignore[no-any-return]
        if not tensor.is_eager and tensor.op.graph is not self.outer and isinstance(self.outer, FunctionGraph):
            tensor = self.outer.capture(tensor)
        inner = self.captured.get(tensor)
        if inner is not None:
            return inner
        if not tensor.is_eager and tensor.op.graph is not self.outer:
            raise ValueError(f"{tensor} belongs to a graph that does not enclose the function, which cannot use it")
        if tensor.dtype._is_ref_dtype:
            raise ValueError(
                f"{tensor.name!r} is a reference variable, which a function cannot write to: "
                "create it with use_resource=True"
            )
        if not tensor.is_eager and tensor.op.type == "Const":
            with self.name_scope(None), self.control_flow(None), self.device(None):
                attrs = {"value": tensor.op.attrs["value"], "dtype": tensor.dtype}
                return self.create_op("Const", [], attrs=attrs, name="captured").outputs[0]
        argument = self.argument(tensor.dtype, tensor.dims, name="captured")
        self.captured[tensor] = argument
        self.origins[argument] = tensor
        return argument

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Iterable[object] | None) -> Iterator[None]:
        """Makes operations inside run after those of the given ones that are in this function."""
        local = control_inputs
        if control_inputs is not None:
            elements = [getattr(element, "op", element) for element in control_inputs]
            local = [element for element in elements if isinstance(element, str) or _graph(element) is self]
        with super().control_dependencies(local):
            yield

    @contextlib.contextmanager
    def colocate_with(self, op: object, ignore_existing: bool = False) -> Iterator[None]:
        """Ignores colocation: a function does not say where its callers run it."""
        yield


def _graph(element: object) -> Graph | None:
    """Returns the graph of an operation; what was computed eagerly has none."""
    return element.graph if isinstance(element, Operation) else None
