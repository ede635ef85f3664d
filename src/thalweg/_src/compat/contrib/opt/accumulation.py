"""Gradient accumulation: applies the mean gradient of several batches as that of one large batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import control
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import less
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.reshape import zeros, zeros_like
from thalweg._src.graph.scopes import (
    GraphKeys,
    colocate_with,
    control_dependencies,
    get_collection_ref,
    init_scope,
    name_scope,
)
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.variables.slots import create_zeros_slot
from thalweg._src.training.variables.variables import Variable


@export("contrib.opt.AccumulatingOptimizer")
class AccumulatingOptimizer(Optimizer):
    """Wraps an optimizer so that only every `steps`-th run of the training operation updates variables.

    The other runs accumulate their gradients, and that run applies the mean. Slots and the global step change with the
    updates, not with the runs. Sparse gradients stay sparse: their rows are stored until they are applied.

    Args:
        steps: Number of steps whose gradients are averaged.
    """

    steps = ReadOnly[int]("The number of runs per update.")

    def __init__(self, opt: Optimizer, steps: int, name: str | None = None) -> None:
        if not isinstance(opt, Optimizer):
            raise TypeError(f"opt must be an Optimizer, not {opt!r}")
        if int(steps) != steps or steps < 1:
            raise ValueError(f"steps must be a positive integer: {steps}")
        super().__init__(opt._use_locking, name or f"Accumulating{opt.get_name()}")
        self._optimizer = opt
        self._steps = int(steps)
        self._sums: list[Any] = []

    def compute_gradients(
        self, loss: TensorLike | Callable[[], TensorLike], *args: Any, **kwargs: Any
    ) -> list[tuple[Any, Any]]:
        return self._optimizer.compute_gradients(loss, *args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Any:
        """Returns the operation that accumulates the gradients, and applies their mean in every `steps`-th run."""
        pairs = [(grad, variable) for grad, variable in grads_and_vars if grad is not None]
        if self._steps == 1 or not pairs:
            return self._optimizer.apply_gradients(pairs, global_step, name)
        around = get_default_graph().get_name_scope()
        with name_scope(name or self._name) as scope:
            with init_scope():
                count = self._add_sum(Variable(0, trainable=False, name="count", dtype=dtypes.int32))
                sums = [self._sum_of(grad, variable) for grad, variable in pairs]

            def add() -> Operation:
                return control.group(*(total.add() for total in sums), count.assign_add(1, read_value=False))

            def apply() -> Operation:
                means = [(total.mean(self._steps), variable) for total, (_, variable) in zip(sums, pairs)]
                with name_scope(f"{around}/" if around else ""):  # the names of the optimizer do not change
                    applied = self._apply(means, global_step)
                with control_dependencies([applied]):
                    return control.group(*(total.clear() for total in sums), count.assign(0, read_value=False))

            with control_dependencies([tensor for grad, _ in pairs for tensor in _tensors(grad)]):
                chosen = cond(less(count.value(), self._steps - 1), add, apply)
            update = control.group(chosen, name=scope)
        get_collection_ref(GraphKeys.TRAIN_OP).append(update)
        return update

    def _apply(self, means: list[tuple[Any, Any]], global_step: Any) -> Any:
        """Returns the update of the wrapped optimizer, removed from the collection TRAIN_OP."""
        applied = self._optimizer.apply_gradients(means, global_step)
        train_ops = get_collection_ref(GraphKeys.TRAIN_OP)
        if applied in train_ops:
            train_ops.remove(applied)
        return applied

    def _sum_of(self, grad: Any, variable: Any) -> _DenseSum | _SparseSum:
        with colocate_with(variable):
            if not isinstance(grad, IndexedSlices):
                return _DenseSum(grad, self._add_sum(create_zeros_slot(variable, self._name)))
            row = variable.get_shape().as_list()[1:]
            with name_scope(""), name_scope(f"{variable._shared_name}/{self._name}"):
                values = self._add_sum(_empty_rows("values", row, grad.values.dtype))
                indices = self._add_sum(_empty_rows("indices", [], grad.indices.dtype))
            return _SparseSum(grad, values, indices)

    def _add_sum(self, variable: Any) -> Any:
        self._sums.append(variable)
        return variable

    def get_slot(self, var: Any, name: str) -> Any:
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """Returns the slot names of the wrapped optimizer."""
        return self._optimizer.get_slot_names()

    def variables(self) -> list[Any]:
        """Returns the variables of the wrapped optimizer and the accumulators."""
        graph = get_default_graph()
        return [*self._optimizer.variables(), *(v for v in self._sums if v.graph is graph)]


class _DenseSum:
    """The accumulator of the dense gradients of a variable."""

    def __init__(self, grad: Tensor, total: Any) -> None:
        self._grad = grad
        self._total = total

    def add(self) -> Operation:
        return self._total.assign_add(self._grad, read_value=False)  # type: ignore[no-any-return]

    def mean(self, steps: int) -> Any:
        return (self._total.value() + self._grad) / cast(steps, self._grad.dtype)

    def clear(self) -> Operation:
        return self._total.assign(zeros_like(self._grad), read_value=False)  # type: ignore[no-any-return]


class _SparseSum:
    """The accumulator of the sparse gradients of a variable; the optimizer sums rows with equal indices."""

    def __init__(self, grad: IndexedSlices, values: Any, indices: Any) -> None:
        self._grad = grad
        self._values = values
        self._indices = indices

    def _joined(self) -> tuple[Tensor, Tensor]:
        return (
            concat([self._values.value(), self._grad.values], 0),
            concat([self._indices.value(), self._grad.indices], 0),
        )

    def add(self) -> Operation:
        values, indices = self._joined()
        return control.group(
            self._values.assign(values, read_value=False), self._indices.assign(indices, read_value=False)
        )

    def mean(self, steps: int) -> IndexedSlices:
        values, indices = self._joined()
        return IndexedSlices(values / cast(steps, values.dtype), indices, self._grad.dense_shape)

    def clear(self) -> Operation:
        return control.group(
            *(
                held.assign(zeros([0, *held.get_shape().as_list()[1:]], held.dtype), read_value=False)
                for held in (self._values, self._indices)
            )
        )


def _empty_rows(name: str, row: list[int], dtype: DType) -> Any:
    """Returns a variable without rows, whose number of rows may change."""
    return Variable(zeros([0, *row], dtype), trainable=False, name=name, shape=[None, *row])


def _tensors(grad: Any) -> list[Any]:
    return [grad.values, grad.indices] if isinstance(grad, IndexedSlices) else [grad]
