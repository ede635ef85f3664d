"""L-BFGS in the graph: each run of the training operation is one step with a line search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.control_flow.context import bring
from thalweg._src.graph.control_flow.while_loop import while_loop
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import control
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater, greater_equal, less, less_equal, logical_and, logical_not
from thalweg._src.graph.ops.concat import concat, split
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.math import abs as absolute, floormod, minimum, multiply, negative
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import reshape, zeros, zeros_like
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import GraphKeys, control_dependencies, get_collection_ref, init_scope, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.graph.walk import reachable
from thalweg._src.training.optimizers.optimizer import Optimizer, flat_variables
from thalweg._src.training.variables.variables import Variable, trainable_variables

Loss = Callable[[], Any]


@export("contrib.opt.LBFGSOptimizer")
class LBFGSOptimizer(Optimizer):
    """The L-BFGS quasi-Newton method with a line search by the Wolfe conditions.

    For losses that stay the same function from step to step: full data sets, or batches that change rarely. The loss is
    computed several times in a step; a tensor is computed again from the variables' reads on, so that placeholders and
    random numbers are the same throughout a step. All variables must be of one type and of known shapes.

    Args:
        history: Number of past steps to remember.
        max_evaluations: Largest number of evaluations of the loss in a step.
        armijo: Fraction of the predicted decrease by which the loss must decrease at least.
        curvature: Largest ratio of the slope after a step to that before.
    """

    def __init__(
        self,
        history: int = 10,
        max_evaluations: int = 25,
        armijo: float = 1e-4,
        curvature: float = 0.9,
        name: str = "LBFGS",
    ) -> None:
        """Creates an optimizer with a memory of `history` steps and at most `max_evaluations` trial lengths per step.

        A length is accepted if the loss decreases by at least `armijo` times what the initial slope predicts, and if
        the slope at the end is at most `curvature` times as steep.
        """
        if history < 1 or max_evaluations < 1:
            raise ValueError(f"history and max_evaluations must be positive: {history}, {max_evaluations}")
        if not 0 < armijo < curvature < 1:
            raise ValueError(f"0 < armijo < curvature < 1 must hold: {armijo}, {curvature}")
        super().__init__(False, name)
        self._history = history
        self._max_evaluations = max_evaluations
        self._armijo = armijo
        self._curvature = curvature
        self._states: list[_Memory] = []

    def minimize(
        self,
        loss: TensorLike | Callable[[], TensorLike],
        global_step: Variable | None = None,
        var_list: object = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike | None = None,
    ) -> Operation:
        """Returns the operation that runs one step; `loss` is a tensor or a function that builds one.

        A function is needed if conditionals or loops lie between the variables and the loss.
        """
        variables = list(flat_variables(trainable_variables() if var_list is None else var_list))
        point = _Point(variables)
        with name_scope(name, self._name) as scope:
            with init_scope():
                memory = _Memory(self._history, point.size, point.dtype)
            self._states.append(memory)
            build = loss if callable(loss) else _Copy(convert_to_tensor(loss), variables)
            objective = _Objective(build, point, aggregation_method, colocate_gradients_with_ops, grad_loss)
            update = self._step(objective, memory, scope if global_step is None else None)
            if global_step is not None:
                with control_dependencies([update]):
                    update = global_step.assign_add(1, name=scope, read_value=False)
        get_collection_ref(GraphKeys.TRAIN_OP).append(update)
        return update

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Any:
        raise TypeError("L-BFGS computes the loss at several points in each step: call minimize instead")

    def variables(self) -> list[Any]:
        graph = get_default_graph()
        return [v for memory in self._states for v in memory.variables() if v.graph is graph]

    def _step(self, objective: _Objective, memory: _Memory, name: str | None) -> Operation:
        start = objective.point.read()
        loss, gradient = objective.here()
        direction = memory.direction(gradient)
        slope = _dot(gradient, direction)
        downhill = less(slope, cast(0, slope.dtype))  # rounding errors can make it false
        direction, slope = (
            where(downhill, direction, negative(gradient)),
            where(downhill, slope, -_dot(gradient, gradient)),
        )
        search = self._search(objective, start, loss, gradient, direction, slope)
        length = where(search.accepted, search.length, search.low)
        with control_dependencies([search.length]):
            moved = objective.point.move_to(start + length * direction)
        with control_dependencies([moved]):
            remembered = cond(
                search.accepted,
                lambda: memory.add(direction * search.length, search.gradient - gradient),
                lambda: cond(less_equal(search.low, cast(0, slope.dtype)), memory.clear, lambda: control.group()),
            )
        return control.group(moved, remembered, name=name)

    def _search(
        self, objective: _Objective, start: Tensor, loss: Tensor, gradient: Tensor, direction: Tensor, slope: Tensor
    ) -> _Search:
        """Returns the result of a line search by bisection between step lengths that are too short and too long."""
        dtype = slope.dtype
        infinity = constant(float("inf"), dtype)

        def body(search: _Search) -> list[_Search]:
            with control_dependencies([objective.point.move_to(start + search.length * direction)]):
                there, gradient_there = objective.here()
            falls = less_equal(there, loss + self._armijo * search.length * slope)
            flattens = greater_equal(_dot(gradient_there, direction), self._curvature * slope)
            accepted = logical_and(falls, flattens)
            low, high = where(falls, search.length, search.low), where(falls, search.high, search.length)
            following = where(less(high, infinity), (low + high) / 2, 2 * search.length)
            length = where(accepted, search.length, following)
            return [_Search(length, low, high, search.evaluations + 1, accepted, gradient_there)]

        def keep_searching(search: _Search) -> Tensor:
            return logical_and(logical_not(search.accepted), less(search.evaluations, self._max_evaluations))

        first = _Search(constant(1, dtype), constant(0, dtype), infinity, constant(0), constant(False), gradient)
        (last,) = while_loop(keep_searching, body, [first], parallel_iterations=1, back_prop=False)
        return last  # type: ignore[no-any-return]


class _Search(NamedTuple):
    """The state of a line search: the trial or accepted length, and the bounds of the bracket."""

    length: Tensor
    low: Tensor
    high: Tensor
    evaluations: Tensor
    accepted: Tensor
    gradient: Tensor


class _Point:
    """The variables as one vector."""

    def __init__(self, variables: Sequence[Any]) -> None:
        if not variables:
            raise ValueError("No variables to optimize.")
        for variable in variables:
            if not isinstance(variable, Variable):
                raise NotImplementedError(f"an optimizer updates variables, and {variable!r} is none")
            if not variable.get_shape().is_fully_defined():
                raise ValueError(f"L-BFGS needs variables of known shapes: {variable}")
        kinds = {variable.dtype.base_dtype for variable in variables}
        if len(kinds) > 1 or not next(iter(kinds)).is_floating:
            raise ValueError(f"L-BFGS needs variables of one floating type: {[str(v) for v in variables]}")
        self.variables = variables
        self.dtype: DType = kinds.pop()
        self._sizes = [variable.get_shape().num_elements() for variable in variables]
        self.size = sum(self._sizes)

    def join(self, tensors: Iterable[Any]) -> Tensor:
        return concat([reshape(convert_to_tensor(tensor), [-1]) for tensor in tensors], 0)

    def read(self) -> Tensor:
        return self.join(variable.value() for variable in self.variables)

    def move_to(self, vector: Tensor) -> Operation:
        """Returns the operation that assigns the parts of a vector to the variables."""
        pieces = split(vector, self._sizes)
        return control.group(
            *(
                v.assign(reshape(values, v.get_shape().as_list()), read_value=False)
                for v, values in zip(self.variables, pieces)
            )
        )


def _source(variable: Any) -> Tensor:
    """Returns the tensor through which operations in a loop read a variable."""
    return variable._handle if variable.uses_resource else variable.value()  # type: ignore[no-any-return]


class _Objective:
    """The loss and its gradient at the current values of the variables."""

    def __init__(self, build: Loss, point: _Point, method: int | None, colocate: bool, grad_loss: Any) -> None:
        self.point = point
        self._build = build
        self._method = method
        self._colocate = colocate
        self._grad_loss = grad_loss

    def here(self) -> tuple[Tensor, Tensor]:
        """Returns both as new operations that read the variables after the current control dependencies."""
        loss = convert_to_tensor(self._build())
        context: Any = get_default_graph().scopes.context
        grads = gradients(
            loss,
            [bring(_source(variable), context) for variable in self.point.variables],
            grad_ys=self._grad_loss,
            colocate_gradients_with_ops=self._colocate,
            aggregation_method=self._method,
        )
        if all(grad is None for grad in grads):
            raise ValueError(f"the loss gives no gradients for the variables {[str(v) for v in self.point.variables]}")
        present = [zeros_like(v.value()) if grad is None else grad for v, grad in zip(self.point.variables, grads)]
        return reduce_sum(cast(loss, self.point.dtype)), self.point.join(present)


class _Copy:
    """A function that copies a loss: the operations between the variables and the loss are created again."""

    def __init__(self, loss: Tensor, variables: Sequence[Any]) -> None:
        self._loss = loss
        self._operations = _between([_source(v) for v in variables], loss)
        for operation in self._operations:
            if operation.context is not None:
                raise ValueError(
                    f"The loss depends on the variables through the conditional or loop of {operation.name!r}: "
                    "give a function that builds the loss instead of the loss"
                )

    def __call__(self) -> Tensor:
        graph = get_default_graph()
        copies: dict[Tensor, Tensor] = {}
        for operation in self._operations:
            copy = graph.create_op(
                operation.type,
                [copies.get(tensor, tensor) for tensor in operation.inputs],
                [t.dtype for t in operation.outputs],
                name=operation.name.rpartition("/")[2],
                attrs=operation.attrs,
            )
            copies.update(zip(operation.outputs, copy.outputs))
        return copies.get(self._loss, self._loss)


def _between(sources: Sequence[Tensor], target: Tensor) -> list[Operation]:
    """Returns the operations that depend on a source and that the target depends on, each after its inputs."""
    above = reachable([target.op], lambda op: (tensor.op for tensor in op.inputs))
    changed: set[Tensor] = set(sources)
    operations = []
    for operation in sorted(above, key=lambda op: op.id):
        if any(tensor in changed for tensor in operation.inputs):
            changed.update(operation.outputs)
            operations.append(operation)
    return operations


class _Memory:
    """The last steps and gradient differences, in the rows of two matrices used as ring buffers."""

    def __init__(self, history: int, size: int, dtype: DType) -> None:
        self._history = history
        self._dtype = dtype
        self._count = Variable(0, trainable=False, name="count", dtype=dtypes.int32)
        self._steps = Variable(zeros([history, size], dtype), trainable=False, name="steps")
        self._changes = Variable(zeros([history, size], dtype), trainable=False, name="changes")
        self._weights = Variable(zeros([history], dtype), trainable=False, name="weights")

    def variables(self) -> list[Any]:
        return [self._count, self._steps, self._changes, self._weights]

    def direction(self, gradient: Tensor) -> Tensor:
        """Returns minus the approximate inverse Hessian times the gradient.

        Empty rows have weight 0 and no effect.
        """
        count, steps, changes, weights = (variable.value() for variable in self.variables())
        order = [floormod(count - 1 - age, self._history) for age in range(self._history)]
        rows = [(gather(steps, row), gather(changes, row), gather(weights, row)) for row in order]
        result, shares = gradient, []
        for step, change, weight in rows:
            share = weight * _dot(step, result)
            shares.append(share)
            result = result - share * change
        result = self._scale(gradient, *rows[0]) * result
        for (step, change, weight), share in zip(reversed(rows), reversed(shares)):
            result = result + (share - weight * _dot(change, result)) * step
        return negative(result)

    def _scale(self, gradient: Tensor, step: Tensor, change: Tensor, weight: Tensor) -> Tensor:
        """Returns the initial inverse Hessian's scale: from the last step, or such that the first has length 1."""
        one = cast(1, self._dtype)
        first = minimum(one, one / reduce_sum(absolute(gradient)))
        has_curvature = greater(weight, cast(0, self._dtype))
        return where(has_curvature, one / where(has_curvature, weight * _dot(change, change), one), first)

    def add(self, step: Tensor, change: Tensor) -> Operation:
        """Returns the operation that stores a step, if its curvature is positive."""
        product = _dot(step, change)
        usable = greater(product, 1e-10 * _dot(change, change))
        return control.group(cond(usable, lambda: self._put(step, change, 1 / product), lambda: control.group()))

    def _put(self, step: Tensor, change: Tensor, weight: Tensor) -> Operation:
        count, steps, changes, weights = self.variables()
        row = floormod(count.value(), self._history)
        written = [held[row].assign(value).op for held, value in ((steps, step), (changes, change), (weights, weight))]
        with control_dependencies(written):
            return count.assign_add(1, read_value=False)  # type: ignore[no-any-return]

    def clear(self) -> Operation:
        """Returns the operation that removes all steps, after a direction along which the loss did not decrease."""
        return self._weights.assign(zeros([self._history], self._dtype), read_value=False)  # type: ignore[no-any-return]


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return reduce_sum(multiply(a, b))
