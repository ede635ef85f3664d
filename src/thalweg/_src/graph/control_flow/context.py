"""Control-flow contexts: the branches and loops that operations belong to, and how outer values are captured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from thalweg._src.base.shapes import Shape
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.control_flow import enter_op, exit_op, loop_cond_op, merge_op, next_iteration_op, switch_op
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.tensor import Tensor


class Context:
    """A branch or a loop: operations in it access outer values through operations that the context adds."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name
        self.outer: Context | None = graph.scopes.context  # type: ignore[assignment]
        self.in_loop: bool = isinstance(self, Loop) or (self.outer is not None and self.outer.in_loop)
        self.pivot: Operation | None = None  # control input of operations without inputs
        self._imported: dict[Tensor, Tensor] = {}
        self._signals: dict[Operation, Operation] = {}
        self._controls = list(dict.fromkeys(op for scope in graph.scopes.controls for op in scope.controls))

    @property
    def scope(self) -> str:
        """The name scope of the operations that the context adds."""
        return f"{self.name}/"

    def entered(self) -> AbstractContextManager[None]:
        """Makes operations inside the `with` block belong to this context."""
        return self.graph.control_flow(self)

    def left(self) -> AbstractContextManager[None]:
        """Makes operations inside the `with` block belong to the enclosing context."""
        return self.graph.control_flow(self.outer)

    def chain(self) -> Iterator[Context]:
        """Yields this context and its enclosing ones, innermost first."""
        context: Context | None = self
        while context is not None:
            yield context
            context = context.outer

    def admit(
        self, definition: OpDef, inputs: list[Tensor], controls: list[Operation], name: str
    ) -> tuple[list[Tensor], list[Operation]]:
        """Returns the inputs and control inputs of a new operation as they are seen in this context."""
        # An Exit is created outside, and is the one operation that may consume a value of the loop there.
        if definition is exit_op:
            return inputs, controls  # the only op that takes a value out of a loop
        inputs = [bring(tensor, self, name) for tensor in inputs]
        controls = [self._import_control(control, name) for control in controls]
        # An operation without inputs would run in any case, whichever branch is taken: the pivot, alive only if this
        # one is, makes it wait. With an input of this context it is dead when the input is.
        if self._needs_pivot(inputs) and not any(context_of(control) is self for control in controls) and self.pivot:
            controls.append(self.pivot)
        return inputs, controls

    def require_outside(self, definition: OpDef, elements: Iterable[Tensor | Operation], name: str) -> None:
        """Raises ValueError if a new operation outside all contexts consumes a value of a loop."""
        if definition is not exit_op:
            for element in elements:
                _require_left(element, None, name)

    def _needs_pivot(self, inputs: list[Tensor]) -> bool:
        """Returns whether none of these inputs ensures that this context is executing."""
        return not inputs

    def _import_control(self, control: Operation, name: str) -> Operation:
        """Returns the operation of this context that represents a control input."""
        context = context_of(control)
        if context is self or encloses(self, context):
            _require_left(control, self, name)
            return control
        return self._signal(control)

    def _signal(self, control: Operation) -> Operation:
        return control

    def import_value(self, tensor: Tensor) -> Tensor:
        """Returns the value of a tensor in the enclosing context, as operations of this one consume it."""
        # One Switch or Enter per value, whatever the number of its consumers. The operation is added in the outer
        # context, from which its input comes, and is assigned to this one afterwards: `admit` of this context would
        # import the input again.
        if tensor not in self._imported:
            with self.left(), self.graph.control_dependencies(self._controls), self.graph.name_scope(self.scope):
                inner = self._import(tensor)
            inner.op.context = self
            inner.dims = tensor.dims
            inner.static_value = tensor.static_value
            self._imported[tensor] = inner
        return self._imported[tensor]

    def _import(self, tensor: Tensor) -> Tensor:
        raise AssertionError("a context is a branch or a loop")


def context_of(element: Tensor | Operation) -> Any:
    """Returns the context that an operation, or the operation of a tensor, belongs to; None for the graph itself."""
    return (element.op if isinstance(element, Tensor) else element).context


def encloses(outer: Context | None, inner: Context | None) -> bool:
    """Returns whether one context is the other or encloses it; None is the graph, which encloses everything."""
    return outer is None or (inner is not None and any(context is outer for context in inner.chain()))


def bring(tensor: Tensor, context: Context | None, consumer: str = "another operation") -> Tensor:
    """Returns the tensor as operations of a context consume it; consumer: the name of the operation, for errors."""
    origin = context_of(tensor)
    if origin is context:
        return tensor
    if context is None or encloses(context, origin):
        _require_left(tensor, context, consumer)
        return tensor  # a value of a branch is dead outside if the branch is not taken
    # A loop of a gradient reads values of the loop that it differentiates from its stacks, not through an Enter.
    if isinstance(context, Loop):
        saved = context.saved(tensor)
        if saved is not None:
            return saved
    # One context after the other, from the outside in: a value that enters a branch within a loop passes the loop's
    # Enter first, then the Switch of the branch.
    value = bring(tensor, context.outer, consumer)
    return value if encloses(context, context_of(value)) and context_of(value) else context.import_value(value)


def _require_left(element: Tensor | Operation, context: Context | None, consumer: str) -> None:
    """Raises ValueError if an element belongs to a loop that the context is not in."""
    origin = context_of(element)
    around = origin.chain() if origin else ()
    loop = next((c for c in around if isinstance(c, Loop) and not encloses(c, context)), None)
    if loop is not None:
        name = (element.op if isinstance(element, Tensor) else element).name
        current: Context | None = element.graph.scopes.context  # type: ignore[assignment]
        is_in_other = current is not None and any(isinstance(c, Loop) for c in current.chain())
        why = "they are in different while loops" if is_in_other else f"{name!r} is in a while loop"
        raise ValueError(
            f"Cannot use {name!r} as input to {consumer!r} because {why}. Return it from the body of the loop "
            f"{loop.title!r} as a loop variable, or collect it in a TensorArray."
        )


def effected(graph: Graph, tensors: list[Tensor]) -> list[Tensor]:
    """Returns the results of a branch or an iteration, which wait for what it reads and changes in a function."""
    accesses = graph.accesses
    if not accesses:
        return tensors
    # Inside of a function, later effects wait for the results of the conditional or the loop. These must not be there
    # before the effects inside are over, even where no result depends on them.
    with graph.control_dependencies(accesses):
        return [identity(tensor) for tensor in tensors]


class Branch(Context):
    """One side of a conditional."""

    def __init__(self, graph: Graph, name: str, pred: Tensor, side: bool) -> None:
        super().__init__(graph, name)
        self.pred = pred
        self.side = side
        self.sibling: Branch  # the branch of the opposite condition
        with self.left(), graph.control_dependencies(self._controls), graph.name_scope(f"{name}/"):
            # The predicate switched by itself is alive in this branch alone; an Identity of it serves as the pivot.
            arrived = switch_op.many(pred, pred, name="Switch")[side]
            pivot = identity(arrived, name="switch_t" if side else "switch_f")
        arrived.op.context = pivot.op.context = self
        self.pivot = pivot.op

    def _import(self, tensor: Tensor) -> Tensor:
        name = f"{tensor.op.name.rpartition('/')[2]}/Switch"
        return switch_op.many(tensor, self.pred, name=name)[self.side]  # type: ignore[no-any-return]


class LoopVariable:
    """The operations that carry one value through a loop's iterations."""

    __slots__ = ("arrival", "enter", "exit", "merge", "next", "switch")

    def __init__(self, enter: Tensor, merge: Tensor) -> None:
        self.enter = enter  # the initial value
        self.merge = merge  # the value at the start of each iteration, for the condition
        self.switch: Any = None
        self.arrival: Tensor  # the same value, for the body
        self.next: Tensor  # the value for the next iteration
        self.exit: Tensor  # the final value, outside the loop


class Loop(Context):
    """A while loop: one frame, with the values that it carries between iterations."""

    def __init__(self, graph: Graph, name: str, parallel_iterations: int, back_prop: bool, swap_memory: bool) -> None:
        super().__init__(graph, name)
        self.parallel_iterations = parallel_iterations
        self.back_prop = back_prop
        self.swap_memory = swap_memory
        self.recompute = False
        self.variables: list[LoopVariable] = []
        self.condition: Tensor | None = None
        self.body_pivot: Operation | None = None
        self._count: Tensor | None = None

    @property
    def scope(self) -> str:
        return f"{self.title}/"  # programs know names such as rnn/while/Exit_2

    @property
    def title(self) -> str:
        """The name under which the user knows the loop."""
        return self.name.rpartition("/")[0] or self.name

    def _needs_pivot(self, inputs: list[Tensor]) -> bool:
        # Loop invariants are also alive in the last iteration, the one in which the condition is false.
        return all(tensor.op.type in ("Enter", "RefEnter") and tensor.op.attrs["is_constant"] for tensor in inputs)

    def saved(self, tensor: Tensor) -> Tensor | None:
        """Returns a tensor of another loop at that loop's iteration that corresponds to this one's, if there is one."""
        return None

    def _import(self, tensor: Tensor) -> Tensor:
        return self._enter(tensor, constant=True)

    def _enter(self, tensor: Tensor, constant: bool) -> Tensor:
        """Adds an Enter op; it is added from outside the loop, but belongs to it."""
        return enter_op(
            tensor,
            frame_name=self.name,
            is_constant=constant,
            parallel_iterations=self.parallel_iterations,
            name="Enter",
        )

    def _signal(self, control: Operation) -> Operation:
        """Returns an operation of the loop that runs after the outer `control`: the Enter of a constant after it."""
        # A control edge cannot enter a frame. A constant that waits for the outer operation can, as the value of an
        # Enter.
        if control not in self._signals:
            with self.graph.control_flow(context_of(control)), self.graph.control_dependencies([control]):
                token = constant(False, name="signal")
            self._signals[control] = bring(token, self).op
        return self._signals[control]

    # -- building -----------------------------------------------------------------------------------------------------

    def add_variable(self, initial: Tensor, shape: Shape) -> LoopVariable:
        """Adds a loop variable; `shape` holds in every iteration."""
        graph = self.graph
        with graph.name_scope(self.scope):
            with self.left(), graph.control_dependencies(self._controls):
                enter = self._enter(initial, constant=False)
            enter.op.context = self
            enter.dims = shape
            with self.entered():
                # The second input of the Merge is the value of the next iteration, which does not exist yet. The Enter
                # stands in for it until `close` replaces it: graphs are built forwards, and the back edge of a loop is
                # the one edge that is not.
                variable = LoopVariable(enter, merge_op.many([enter, enter], name="Merge")[0])
                variable.merge.dims = enter.dims
                if self.pivot is None:
                    self.pivot = variable.merge.op
        self.variables.append(variable)
        return variable

    def set_condition(self, pred: Tensor) -> None:
        """Sets the condition of the loop; operations added afterwards belong to its body."""
        with self.entered(), self.graph.name_scope(self.scope):
            self.condition = loop_cond_op(pred, name="LoopCond")
        for variable in self.variables:
            self.open(variable)
        # From here on operations belong to the body. They wait for a Switch of the loop, and so do not run in the last
        # iteration, in which the condition is false.
        self.pivot = self.body_pivot = self.variables[0].arrival.op

    def open(self, variable: LoopVariable) -> None:
        """Adds the Switch through which the body receives a variable's value."""
        with self.entered(), self.graph.name_scope(self.scope):
            variable.switch = switch_op.many(variable.merge, self.condition, name="Switch")
            variable.arrival = identity(variable.switch[1], name="Identity")

    def close(self, variable: LoopVariable, value: Tensor) -> None:
        """Sets a variable's value for the next iteration, and adds the Exit that returns its final value."""
        with self.graph.name_scope(self.scope):
            with self.entered():
                variable.next = next_iteration_op(value, name="NextIteration")
            variable.merge.op._replace_input(1, variable.next)
            # The Exit has the false side of the Switch: the value at which the condition failed.
            with self.left():
                variable.exit = exit_op(variable.switch[0], name="Exit")
        # Set here, since no op outside but Exit may consume a value of the loop.
        variable.exit.dims = variable.merge.dims

    def carry(self, initial: Tensor, shape: Shape, step: Callable[[Tensor], Tensor]) -> LoopVariable:
        """Adds a variable to an otherwise complete loop: `step(value)` returns its next value in the body."""
        variable = self.add_variable(initial, shape)
        self.open(variable)
        with self.entered():
            following = step(variable.arrival)
        self.close(variable, following)
        return variable

    def count(self) -> Tensor:
        """Returns the trip count as a tensor outside the loop; the counter is added on first use."""
        if self._count is None:
            with self.left():
                zero = constant(0, name="f_count")
            self._count = self.carry(zero, (), lambda n: n + 1).exit
        return self._count
