"""Optimizer: the base class of the optimizers of Keras, which computes gradients and applies them to variables."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from thalweg._src.base import dtypes, logging
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, executing_eagerly_outside_functions, get_default_graph
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops import control
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.constants import no_op
from thalweg._src.graph.ops.gather import scatter_nd
from thalweg._src.graph.ops.math import clip_by_value, multiply
from thalweg._src.graph.ops.reshape import expand_dims, shape
from thalweg._src.graph.ops.state import resource_scatter_add
from thalweg._src.graph.scopes import colocate_with, control_dependencies, init_scope, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend import state
from thalweg._src.keras.optimizers.optimizer_state import OptimizerState
from thalweg._src.runtime.eager.gradient_tape import GradientTape
from thalweg._src.training.checkpoint.trackable import Child, children_of
from thalweg._src.training.distribute.strategy import Strategy
from thalweg._src.training.optimizers.clipping import clip_by_norm
from thalweg._src.training.optimizers.optimizer import _alike, _sum_equal_indices, flat_variables, present_gradients
from thalweg._src.training.variables.distribution import current_mode
from thalweg._src.training.variables.variables import Variable

Coefficients = dict[Any, dict[str, Any]]  # what all updates of a step share, by device and type of the variables


@export("keras.optimizers.Optimizer")
class Optimizer(OptimizerState):
    """The base class of optimizers; subclasses define slots and the update of a variable by a gradient.

    A subclass overrides `_create_slots`, `_prepare_local`, `_resource_apply_dense` and `_resource_apply_sparse`. The
    last two may take an argument `apply_state`: what `_prepare_local` has computed, by device and type.
    """

    _use_locking = True

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)

    # -- gradients ----------------------------------------------------------------------------------------------------

    def minimize(
        self,
        loss: TensorLike | Callable[[], TensorLike],
        var_list: Iterable[Variable] | Callable[[], Iterable[Variable]],
        grad_loss: TensorLike | None = None,
        name: str | None = None,
    ) -> Any:
        """Computes the gradients of a loss and applies them; returns the operation that does."""
        return self.apply_gradients(self._compute_gradients(loss, var_list, grad_loss), name)

    def _compute_gradients(
        self,
        loss: TensorLike | Callable[[], TensorLike],
        var_list: Iterable[Variable] | Callable[[], Iterable[Variable]],
        grad_loss: TensorLike | None = None,
    ) -> list[tuple[Any, Any]]:
        """Returns pairs of gradient and variable for a function that returns the loss, in graphs also for a tensor."""
        if not callable(loss):
            if executing_eagerly():
                raise TypeError(f"in eager execution, expected a function that returns the loss, received {loss!r}")
            variables = _variables(var_list)
            grads = gradients(loss, variables, grad_loss)
        elif executing_eagerly_outside_functions():
            with GradientTape() as tape:
                if not callable(var_list):
                    tape.watch(_variables(var_list))
                value = convert_to_tensor(loss())
            variables = _variables(var_list)
            with name_scope(f"{self._name}/gradients"):
                grads = tape.gradient(value, variables, grad_loss)
        else:
            value = convert_to_tensor(loss())
            variables = _variables(var_list)
            with name_scope(f"{self._name}/gradients"):
                grads = gradients(value, variables, grad_loss)
        self._assert_valid_dtypes([v for grad, v in zip(grads, variables) if grad is not None])
        return list(zip(self._clip_gradients(grads), variables))

    def get_gradients(
        self, loss: TensorLike, params: Iterable[Variable] | Callable[[], Iterable[Variable]]
    ) -> list[Any]:
        """Returns the gradients of a loss in a graph, clipped as the optimizer is told to."""
        variables = list(flat_variables(params))
        with state.get_graph().as_default(), name_scope(f"{self._name}/gradients"):
            grads = gradients(loss, variables)
            for grad, variable in zip(grads, variables):
                if grad is None:
                    raise ValueError(
                        f"Variable {variable!r} has `None` for gradient: expected a loss that depends on it by "
                        "operations that have gradients"
                    )
            return self._clip_gradients(grads)

    def _clip_gradients(self, grads: Sequence[Any]) -> list[Any]:
        """Returns gradients of a norm of at most `clipnorm`, with values of at most `clipvalue`."""
        norm, limit = getattr(self, "clipnorm", None), getattr(self, "clipvalue", None)
        clipped = list(grads)
        if norm is not None:
            clipped = [None if grad is None else clip_by_norm(grad, norm) for grad in clipped]
        if limit is not None:
            clipped = [None if grad is None else clip_by_value(grad, -limit, limit) for grad in clipped]
        return clipped

    def _assert_valid_dtypes(self, tensors: Iterable[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            if tensor.dtype.base_dtype not in valid:
                names = sorted(dtype.name for dtype in valid)
                raise ValueError(f"Invalid type {tensor.dtype.name} for {tensor.name}, expected: {names}.")

    def _valid_dtypes(self) -> set[DType]:
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    # -- steps --------------------------------------------------------------------------------------------------------

    def get_updates(self, loss: TensorLike, params: Iterable[Variable] | Callable[[], Iterable[Variable]]) -> list[Any]:
        """Returns the operations of a step: that which applies the gradients of a loss in a graph."""
        variables = list(flat_variables(params))
        grads = self.get_gradients(loss, variables)
        self._assert_valid_dtypes(variables)
        return [self.apply_gradients(list(zip(grads, variables)))]

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], name: str | None = None) -> Any:
        """Updates each variable by its gradient and increments `iterations`; returns the operation that does.

        In a replica of a strategy, the gradients of all replicas are summed first, and all copies are updated.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            return None if executing_eagerly() else no_op()
        present = present_gradients(pairs)
        if len(present) < len(pairs):
            missing = [variable.name for grad, variable in pairs if grad is None]
            logging.warning("Gradients do not exist for variables %s when minimizing the loss.", missing)
        mode = current_mode()
        if mode is not None and not mode.strategy._is_default:
            if mode.replica is None:
                raise RuntimeError(
                    "apply_gradients was called in a cross-replica context: call it in the function that the strategy "
                    "runs in each replica"
                )
            return mode.replica.merge_call(self._distributed_apply, args=(present, name))
        with name_scope(self._name):
            variables = [variable for _, variable in present]
            self._create_all(variables)
            apply_state = self._prepare(variables)
            with name_scope(name or self._name):
                return self._counted(self._update_all(present, apply_state))

    def _create_all(self, var_list: list[Any]) -> None:
        """Creates the variables of the optimizer that do not exist yet."""
        for variable in var_list:
            if not variable.uses_resource:
                raise ValueError(
                    f"{variable.name!r} is a reference variable: an optimizer of Keras updates variables made with "
                    "use_resource=True or after tf.enable_resource_variables()"
                )
        with init_scope():
            _ = self.iterations
            self._create_hypers()
            self._create_slots(var_list)

    def _counted(self, updates: list[Any]) -> Any:
        """Counts a step after its updates; returns the operation."""
        updates = [*updates, *self._finish(updates)]
        if executing_eagerly():
            return self.iterations.assign_add(1)
        with control_dependencies(updates):
            return self.iterations.assign_add(1, read_value=False)

    def _distributed_apply(
        self, distribution: Strategy, grads_and_vars: list[tuple[Any, Any]], name: str | None
    ) -> Any:
        """Returns the operation that sums the gradients of all replicas and updates all copies of each variable."""
        extended = distribution.extended
        sums = extended.batch_reduce_to("SUM", grads_and_vars)
        variables = [variable for _, variable in grads_and_vars]
        apply_state: Coefficients = {}

        def update(variable: Variable, grad: Tensor) -> Any:
            key = variable.device, variable.dtype.base_dtype
            with name_scope(f"update_{variable._shared_name}"), colocate_with(variable):
                if key not in apply_state:
                    apply_state[key] = self._fallback_apply_state(*key)
                return self._update(grad, variable, apply_state)

        with name_scope(self._name):
            self._create_all(variables)
            with name_scope(name or self._name):
                updates: list[Any] = []
                for grad, variable in zip(sums, variables):
                    updates += extended.update(variable, update, args=(grad,), group=False)
                updates = [*updates, *self._finish(updates)]
                with control_dependencies(updates):
                    steps = extended.update(
                        self.iterations, lambda copy: copy.assign_add(1, read_value=False), group=False
                    )
                return control.group(*steps)

    def _update_all(self, pairs_left: list[tuple[Any, Any]], apply_state: Coefficients) -> list[Any]:
        """Returns the updates of variables; in eager execution, one operation updates as many as it can."""
        updates: list[Any] = []
        if stacks.is_plain and _updates_together(type(self)):  # type: ignore[arg-type]
            together, pairs_left = _alike(pairs_left)
            for pairs in together:
                grads, variables = zip(*pairs)
                updates.append(self._resource_apply_dense_together(grads, variables, apply_state))
        for grad, variable in pairs_left:
            with name_scope(f"update_{variable._shared_name}"), colocate_with(variable):
                updates.append(self._update(grad, variable, apply_state))
        return updates

    def _update(self, grad: Tensor, variable: Variable, apply_state: Coefficients) -> Any:
        if isinstance(grad, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError(
                    f"{variable.name!r} has a constraint: expected a dense gradient, received IndexedSlices"
                )
            sparse = self._resource_apply_sparse_duplicate_indices
            return _with_state(sparse, apply_state, grad.values, variable, grad.indices)
        update = _with_state(self._resource_apply_dense, apply_state, grad, variable)
        if variable.constraint is None:
            return update
        with control_dependencies([update]):
            return variable.assign(variable.constraint(variable), read_value=False)

    # -- what subclasses override -------------------------------------------------------------------------------------

    def _create_slots(self, var_list: list[Any]) -> None:
        """Creates the slots of each variable."""

    def _prepare(self, var_list: list[Any]) -> Coefficients:
        """Returns what all updates share, by the device and the type of the variables."""
        apply_state: Coefficients = {}
        for variable in var_list:
            key = variable.device, variable.dtype.base_dtype
            if key not in apply_state:
                apply_state[key] = {}
                self._prepare_local(*key, apply_state)
        return apply_state

    def _prepare_local(self, var_device: str, var_dtype: DType, apply_state: Coefficients) -> None:
        """Computes what the updates of variables of a device and a type share."""
        if "learning_rate" in self._hyper:
            apply_state[var_device, var_dtype]["lr_t"] = self._decayed_lr(var_dtype)

    def _fallback_apply_state(self, var_device: str, var_dtype: DType) -> dict[str, Any]:
        """Returns what the updates of variables of a device and a type share, where it was not computed before."""
        apply_state: Coefficients = {(var_device, var_dtype): {}}
        self._prepare_local(var_device, var_dtype, apply_state)
        return apply_state[var_device, var_dtype]

    def _coefficients(self, var: Variable, apply_state: Coefficients | None) -> dict[str, Any]:
        key = var.device, var.dtype.base_dtype
        return (apply_state or {}).get(key) or self._fallback_apply_state(*key)

    def _resource_apply_dense(self, grad: Tensor, handle: Variable, apply_state: Coefficients | None = None) -> Any:
        """Returns the update of a variable by a dense gradient."""
        raise NotImplementedError(f"{type(self).__name__} defines no update by dense gradients")

    def _resource_apply_dense_together(
        self, grads: Sequence[Any], variables: Sequence[Any], apply_state: Coefficients
    ) -> Any:
        """Returns the update of several variables of one type by dense gradients."""
        return control.group(
            *[self._resource_apply_dense(grad, variable, apply_state) for grad, variable in zip(grads, variables)]
        )

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Variable, indices: Tensor, apply_state: Coefficients | None = None
    ) -> Any:
        """Returns the update of rows with possibly repeated indices; sums the rows of equal indices first."""
        summed, rows = _sum_equal_indices(grad, indices)
        return _with_state(self._resource_apply_sparse, apply_state, summed, handle, rows)

    def _resource_apply_sparse(
        self, grad: Tensor, handle: Variable, indices: Tensor, apply_state: Coefficients | None = None
    ) -> Any:
        """Returns the update of distinct rows of a variable."""
        raise NotImplementedError(f"{type(self).__name__} defines no update by sparse gradients")

    def _finish(self, updates: list[Any]) -> list[Any]:
        """Returns what else runs after the updates of a step."""
        return []

    # -- parts of updates ---------------------------------------------------------------------------------------------

    def _resource_scatter_add(self, x: Variable, i: Tensor, v: Tensor) -> Any:
        """Adds to some rows of a variable, and returns its new value."""
        return x.scatter_add(IndexedSlices(v, i))

    def _resource_scatter_update(self, x: Variable, i: Tensor, v: Tensor) -> Any:
        """Replaces some rows of a variable, and returns its new value."""
        return x.scatter_update(IndexedSlices(v, i))

    def _decay_and_add(self, slot: Variable, factor: Tensor, rows: Tensor, indices: Tensor) -> Any:
        """Multiplies a slot by a factor, adds to some of its rows, and returns their new values."""
        decayed = slot.assign(multiply(slot, factor), read_value=False)
        with control_dependencies([decayed]):
            added = resource_scatter_add.operation(slot._handle, indices, rows)
        with control_dependencies([added]):
            return slot.sparse_read(indices)

    def _as_dense(self, grad: Any, var: Variable, indices: Any) -> Any:
        """Returns the dense gradient: one pass over memory in a fused update is cheaper than several."""
        size: Any = var.shape.as_list() if var.shape.is_fully_defined() else shape(var)
        return scatter_nd(expand_dims(indices, 1), grad, cast(size, indices.dtype))


def _variables(var_list: Iterable[Variable] | Callable[[], Iterable[Variable]]) -> list[Any]:
    return list(flat_variables(var_list() if callable(var_list) else var_list))


@functools.lru_cache(maxsize=256)
def _updates_together(optimizer: type[Optimizer]) -> bool:
    """Returns whether an optimizer has one operation for several variables that does what it does for each of them."""
    together = "_resource_apply_dense_together"
    alternatives = {"_resource_apply_dense", "_update", together}
    definer = next(cls for cls in optimizer.__mro__ if not alternatives.isdisjoint(vars(cls)))
    return definer is not Optimizer and together in vars(definer)


def _with_state(method: Callable[..., Any], apply_state: Any, *args: Any) -> Any:
    """Calls a method that a program may have overridden without the argument for shared coefficients."""
    if _takes_state(method.__func__):  # type: ignore[attr-defined]
        return method(*args, apply_state=apply_state)
    return method(*args)


@functools.lru_cache(maxsize=256)
def _takes_state(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(parameter.name == "apply_state" or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


@children_of.register(Optimizer)
def _children(optimizer: Any) -> Iterator[Child]:
    """Yields the optimizer's own variables; slots are saved with the variables that they belong to."""
    graph = get_default_graph()
    for name, variable in optimizer._named.items():
        if variable._owner_graph is graph:
            yield name, variable
