"""GraphFunction: a function in the library of a graph, which operations such as PartitionedCall, If and While call."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar

from thalweg._src.base.dtypes import DType
from thalweg._src.base.hook import Hook
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.automatic_control import acts
from thalweg._src.graph.function_def import function_def
from thalweg._src.graph.function_graph import FunctionGraph
from thalweg._src.graph.op_def import ArgDef, Facts, OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.walk import reachable

CALLS = frozenset(("PartitionedCall", "StatefulPartitionedCall"))
IFS = frozenset(("If", "StatelessIf"))
CASES = frozenset(("Case", "StatelessCase"))
LOOPS = frozenset(("While", "StatelessWhile"))
FUNCTIONAL = CALLS | IFS | CASES | LOOPS | {"SymbolicGradient"}


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a function: a graph and the tensors and operations of it that a call uses.

    inputs: any tensors of the graph, which a call replaces by its arguments
    targets: operations that every call runs
    members: the operations that control edges may wait for, by default all; others are effects of the caller
    """

    graph: FunctionGraph
    inputs: list[Tensor]
    outputs: list[Tensor]
    targets: list[Operation]
    members: frozenset[Operation] | None = None

    def operations(self) -> list[Operation]:
        """Returns the operations that a call runs, in the order of their creation."""
        fed = set(self.inputs)
        # The walk ends at the inputs: a call passes them, so neither their operations nor what those depend on run. An
        # input need not be a placeholder (a backward function takes values from the middle of the body). Control edges
        # are followed among `members` only, since forward and backward function share one graph, and an edge from one
        # into the other would run half of the other within each call.
        arguments = {tensor.op for tensor in fed if not tensor.op.inputs}

        def predecessors(operation: Operation) -> list[Operation]:
            controls = [control for control in operation._control_inputs if control not in arguments]
            followed = [control for control in controls if self.members is None or control in self.members]
            return [*(tensor.op for tensor in operation.inputs if tensor not in fed), *followed]

        roots = [*(tensor.op for tensor in self.outputs if tensor not in fed), *self.targets]
        return sorted(reachable(roots, predecessors), key=attrgetter("id"))


class GraphFunction:
    """A body with its inputs, its results and the operations that every call runs.

    graph: the body
    inputs: tensors of the body, most often placeholders: the arguments, then one per captured tensor
    outputs: the results, tensors of the body
    control_outputs: operations of the body that a call runs although no result needs them; all with effects are added
    attrs: attributes of the function, such as `_noinline`
    """

    def __init__(
        self,
        name: str,
        graph: FunctionGraph,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        control_outputs: Sequence[Operation] = (),
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.attrs = dict(attrs or {})
        self.gradient = ""  # the name of the function that computes its gradients, if a GraphDef names one
        # By the results whose gradients are asked for: a call that uses one result of two pays for one.
        self.differentiated: dict[Any, Any] = {}  # its forward and backward functions
        self._traced = Body(graph, list(inputs), list(outputs), with_effects(graph, control_outputs))

    @classmethod
    def of_body(cls, name: str, body: Body) -> GraphFunction:
        """Returns a function with exactly a body."""
        function = cls(name, FunctionGraph(), (), ())
        function._traced = body
        return function

    graph = ReadOnly[FunctionGraph]("The body.", "body.graph")
    inputs = ReadOnly[list[Tensor]]("What a call replaces by its arguments and captured tensors.", "body.inputs")
    outputs = ReadOnly[list[Tensor]]("The results.", "body.outputs")
    targets = ReadOnly[list[Operation]]("The operations that every call runs.", "body.targets")

    @functools.cached_property
    def body(self) -> Body:
        """The graph with its inputs, outputs and targets."""
        return self._traced

    @functools.cached_property
    def operations(self) -> list[Operation]:
        """The operations that a call runs, in the order of their creation."""
        return self.body.operations()

    @functools.cached_property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs in a FunctionDef."""
        return tuple(_argument_names([tensor.op.name for tensor in self.inputs]))

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the results in a FunctionDef."""
        return tuple(f"output_{index}" for index in range(len(self.output_types)))

    @property
    def input_types(self) -> tuple[DType, ...]:
        """The types of the inputs."""
        return tuple(tensor.dtype for tensor in self.inputs)

    @property
    def output_types(self) -> tuple[DType, ...]:
        """The types of the results."""
        return tuple(tensor.dtype for tensor in self.outputs)

    @property
    def output_shapes(self) -> tuple[Shape, ...]:
        """The static shapes of the results."""
        return tuple(tensor.dims for tensor in self.outputs)

    @property
    def captured(self) -> list[Tensor]:
        """The captured tensors of the outer graph, which are the last inputs of a call."""
        return list(self.graph.captured)

    @property
    def library(self) -> Mapping[str, GraphFunction]:
        """The functions that the body may call, by name."""
        return self.graph._functions

    @property
    def type_attrs(self) -> Mapping[str, Any]:
        """The values of the type attributes that this function was instantiated for."""
        return {}

    def instantiate(self, attrs: Mapping[str, Any]) -> GraphFunction:
        """Returns the function for values of its type attributes, which only some functions of a GraphDef have."""
        return self

    @functools.cached_property
    def symbolic_gradient(self) -> GraphFunction:
        """The function that SymbolicGradient calls: from inputs and gradients of the results to gradients of inputs."""
        return type(self).differentiate(self)

    differentiate: ClassVar[Hook[Callable[[GraphFunction], GraphFunction]]]  # set by autodiff/functions.py

    @functools.cached_property
    def definition(self) -> OpDef:
        """The definition of an operation whose type is the function's name: a call of it."""
        return FunctionOp(self)

    @functools.cached_property
    def is_stateful(self) -> bool:
        """Whether a call depends on state, or changes it."""
        return any(operation.definition.stateful for operation in self.operations)

    def to_function_def(self) -> Any:
        """Returns the function as a FunctionDef message."""
        return function_def(self)

    def __repr__(self) -> str:
        return f"<GraphFunction {self.name!r}>"


class FunctionOp(OpDef):
    """The definition of operations that call a function by its name as their type, as TensorFlow 1 writes them."""

    def __init__(self, function: GraphFunction) -> None:
        super().__init__(
            function.name,
            tuple(map(ArgDef, function.input_names, function.input_types)),
            tuple(map(ArgDef, function.output_names, function.output_types)),
            {},
            infer=lambda c: function.output_shapes,
            evaluate=None,
            facts=Facts(stateful=function.is_stateful),
            host=frozenset(),
            numbers=frozenset(),
            differentiable=True,
            from_shapes=None,
            doc="Calls a function of the graph's library.",
        )
        self.function = function


def _argument_names(names: Iterable[str]) -> Iterator[str]:
    """Yields distinct names of arguments, which TensorFlow restricts to lower case, from those of operations."""
    taken: set[str] = set()
    for name in names:
        # TensorFlow's grammar of arguments: lower case, a letter first.
        base = re.sub("[^a-z0-9_]", "_", name.lower().lstrip("_./-"))
        base = base if base[:1].isalpha() else f"arg_{base}"
        unique, number = base, 0
        while unique in taken:
            number += 1
            unique = f"{base}_{number}"
        taken.add(unique)
        yield unique


def with_effects(graph: FunctionGraph, operations: Iterable[Operation]) -> list[Operation]:
    """Returns operations of a body together with all that have effects.

    Those inside of a conditional or a loop run with it; as targets they would keep it from becoming one operation.
    """
    chosen = dict.fromkeys(operations)
    chosen.update((operation, None) for operation in graph.operations if acts(operation))
    return [operation for operation in chosen if operation.context is None]


def unchanged_values(body: GraphFunction) -> set[int]:
    """Returns the indices of the values that the body of a loop returns as it receives them."""
    pairs = enumerate(zip(body.inputs, body.outputs))
    return {index for index, (before, after) in pairs if _origin(after) is before}


def _origin(tensor: Tensor) -> Tensor:
    """Returns what a tensor is a copy of, through Identity and through loops that do not change it."""
    while True:
        # Nested loops are looked through as well: their bodies are finite, so the recursion by way of
        # `unchanged_values` ends.
        operation = tensor.op
        if operation.type == "Identity":
            tensor = operation.inputs[0]
        elif operation.type in LOOPS and tensor.value_index in unchanged_values(operation.attrs["body"]):
            tensor = operation.inputs[tensor.value_index]
        else:
            return tensor
