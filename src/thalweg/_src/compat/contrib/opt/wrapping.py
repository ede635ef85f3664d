"""Optimizer wrappers: moving averages, variable clipping, multitask, dropping of stale gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import control
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import less_equal, not_equal
from thalweg._src.graph.ops.constants import no_op
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.reduction import reduce_any
from thalweg._src.graph.ops.state import resource_scatter_update
from thalweg._src.graph.scopes import GraphKeys, colocate_with, control_dependencies, name_scope
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.checkpoint.saver import Saver
from thalweg._src.training.optimizers.clipping import clip_by_global_norm, clip_by_norm
from thalweg._src.training.optimizers.moving_averages import ExponentialMovingAverage
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.optimizers.wrapping import WrappingOptimizer
from thalweg._src.training.variables.global_step import get_or_create_global_step
from thalweg._src.training.variables.variables import Variable, global_variables

Pairs = Iterable[tuple[Any, Any]]


@export("contrib.opt.MovingAverageOptimizer")
class MovingAverageOptimizer(WrappingOptimizer):
    """Wraps an optimizer and maintains a moving average of each variable it updates."""

    def __init__(
        self,
        opt: Optimizer,
        average_decay: TensorLike = 0.9999,
        num_updates: TensorLike | None = None,
        sequential_update: bool = True,
    ) -> None:
        super().__init__(opt, "MovingAverage")
        self._ema = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._sequential_update = sequential_update
        self._swapped: dict[str, Any] | None = None

    def apply_gradients(
        self, grads_and_vars: Pairs, global_step: Variable | None = None, name: str | None = None
    ) -> Any:
        """Returns the operation that updates variables and, afterwards or concurrently, their averages."""
        pairs = list(grads_and_vars)
        train_op = self._opt.apply_gradients(pairs, global_step=global_step, name=name)
        variables = [variable for grad, variable in pairs if grad is not None]
        with control_dependencies([train_op] if self._sequential_update else []):
            averaged = self._ema.apply(variables)
        self._swapped = {}
        for variable in variables:
            average = self._ema.average(variable)
            self._swapped[variable._shared_name] = average
            self._swapped[average._shared_name] = variable
        return control.group(train_op, averaged, name="train_with_avg")

    def swapped(self, var_list: Any) -> dict[str, Any]:
        """Returns the variables to save by name, with variables and their averages swapped."""
        if self._swapped is None:
            raise RuntimeError("Must call apply_gradients or minimize before creating the swapping_saver")
        named = var_list if isinstance(var_list, dict) else {variable._shared_name: variable for variable in var_list}
        names = {variable._shared_name for variable in named.values()}
        for variable in named.values():
            partner = self._swapped.get(variable._shared_name)
            if partner is not None and partner._shared_name not in names:
                raise ValueError(
                    f"Variable to swap {variable._shared_name} cannot be saved: "
                    f"its partner {partner._shared_name} is not there"
                )
        return {name: self._swapped.get(variable._shared_name, variable) for name, variable in named.items()}

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any) -> Any:
        """Returns a Saver that saves each average under the name of its variable, for evaluation to restore."""
        return Saver(self.swapped(global_variables() if var_list is None else var_list), name=name, **kwargs)


@export("contrib.opt.VariableClippingOptimizer")
class VariableClippingOptimizer(WrappingOptimizer):
    """Wraps an optimizer and clips the norm of variables over some dimensions after each update.

    After a sparse gradient only the changed rows are clipped, unless the norm is taken over rows.

    Args:
        vars_to_clip_dims: For each variable the dimensions that its norm is taken over.
        max_norm: Largest norm.
        colocate_clip_ops_with_vars: Accepted for compatibility; the placer decides.
    """

    def __init__(
        self,
        opt: Optimizer,
        vars_to_clip_dims: dict[Any, Any],
        max_norm: TensorLike,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        super().__init__(opt, name)
        self._use_locking = use_locking
        require_members("vars_to_clip_dims", vars_to_clip_dims, "a dict of the dimensions by variable", "items")
        self._dims = {variable: list(dims) for variable, dims in vars_to_clip_dims.items()}
        self._max_norm = max_norm

    def apply_gradients(
        self, grads_and_vars: Pairs, global_step: Variable | None = None, name: str | None = None
    ) -> Any:
        """Returns the operation that updates and then clips."""
        pairs = list(grads_and_vars)
        with name_scope(name, self._name):
            updated = self._opt.apply_gradients(pairs, global_step=global_step)
            clipped = []
            with control_dependencies([updated]):
                for grad, variable in pairs:
                    if grad is not None and variable in self._dims:
                        with colocate_with(variable):
                            clipped.append(self._clip(grad, variable))
            return control.group(updated, *clipped, name=name or "train_with_clip")

    def _clip(self, grad: Any, variable: Any) -> Operation:
        dims = self._dims[variable]
        if isinstance(grad, IndexedSlices) and 0 not in dims:
            rows = variable.sparse_read(grad.indices)
            clipped = clip_by_norm(rows, self._max_norm, dims)
            return resource_scatter_update.operation(variable._handle, grad.indices, clipped)
        value = clip_by_norm(variable.read_value(), self._max_norm, dims)
        return variable.assign(value, use_locking=self._use_locking, read_value=False)  # type: ignore[no-any-return]


@export("contrib.opt.MultitaskOptimizerWrapper")
class MultitaskOptimizerWrapper:
    """Wraps an optimizer so that a step skips variables whose gradient is zero everywhere.

    With one loss for each of several tasks, a step for one task then leaves the momentum of the others unchanged.
    """

    def __init__(self, opt: Optimizer) -> None:
        if not isinstance(opt, Optimizer):
            raise TypeError(f"Supplied optimizer must be an instance of tf.train.Optimizer, not {opt!r}")
        self._opt = opt
        update = opt._update

        def only_if_any(grad: Any, variable: Any) -> Any:
            values = grad.values if isinstance(grad, IndexedSlices) else grad

            def apply() -> Operation:
                return control.group(update(grad, variable))

            return control.group(cond(reduce_any(not_equal(values, 0)), apply, no_op))

        opt._update = only_if_any  # type: ignore[method-assign]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opt, name)


@export("contrib.opt.clip_gradients_by_global_norm")
def clip_gradients_by_global_norm(gradients_variables: Pairs, clip_norm: TensorLike = 20.0) -> list[tuple[Any, Any]]:
    """Returns (gradient, variable) pairs with the gradients clipped by their global norm.

    Args:
        gradients_variables: Pairs of gradient and variable.
        clip_norm: The largest allowed common norm.
    """
    gradients, variables = zip(*gradients_variables)
    clipped, _ = clip_by_global_norm(gradients, clip_norm)
    return list(zip(clipped, variables))


@export("contrib.opt.DropStaleGradientOptimizer")
class DropStaleGradientOptimizer(WrappingOptimizer):
    """Wraps an optimizer and drops gradients that are more than `staleness` global steps old."""

    def __init__(
        self, opt: Optimizer, staleness: int, use_locking: bool = False, name: str = "DropStaleGradient"
    ) -> None:
        super().__init__(opt, name)
        self._staleness = staleness
        self._seen: Any = None
        self._dropped: Any = None

    def compute_gradients(
        self, loss: TensorLike | Callable[[], TensorLike], *args: Any, **kwargs: Any
    ) -> list[tuple[Any, Any]]:
        """Returns the gradients, and stores the global step before their computation."""
        if self._seen is None:
            self._seen = Variable(
                0,
                dtype=dtypes.int64,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                name=f"{self._name}_local_step",
            )
            self._dropped = Variable(0, dtype=dtypes.int64, trainable=False, name=f"{self._name}_stale_counter")
        now = cast(get_or_create_global_step(), dtypes.int64)
        with control_dependencies([self._seen.assign(now, read_value=False)]):
            loss = identity(loss)
        return super().compute_gradients(loss, *args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Pairs, global_step: Variable | None = None, name: str | None = None
    ) -> Any:
        """Returns the operation that applies gradients unless they are stale."""
        if global_step is None:
            raise ValueError("Global step is required to check staleness of the gradients")
        if self._seen is None:
            raise ValueError("apply_gradients needs gradients that compute_gradients gave")
        pairs = [(grad, variable) for grad, variable in grads_and_vars if grad is not None]
        with control_dependencies([grad.op for grad, _ in pairs]):
            age = cast(global_step.read_value(), dtypes.int64) - self._seen.read_value()
        fresh = less_equal(age, cast(self._staleness, dtypes.int64))

        def apply() -> Operation:
            return control.group(self._opt.apply_gradients(pairs, global_step=global_step))

        def drop() -> Operation:
            return control.group(self._dropped.assign_add(1, read_value=False))

        return control.group(cond(fresh, apply, drop), name=name)
