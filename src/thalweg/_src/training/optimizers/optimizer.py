"""Optimizer: base class that computes the gradients of a loss and applies them to variables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import (
    executing_eagerly,
    executing_eagerly_outside_functions,
    get_default_graph,
    outermost,
)
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import control
from thalweg._src.graph.ops.math import multiply
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.ops.segment import unsorted_segment_sum
from thalweg._src.graph.ops.where import unique
from thalweg._src.graph.scopes import (
    GraphKeys,
    colocate_with,
    control_dependencies,
    get_collection,
    get_collection_ref,
    init_scope,
    name_scope,
)
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.runtime.eager.gradient_tape import GradientTape
from thalweg._src.training.variables.distribution import current_mode, losses_are_averaged
from thalweg._src.training.variables.restoration import child_added
from thalweg._src.training.variables.slots import (
    beside,
    create_slot,
    create_slot_with_initializer,
    create_zeros_slot,
    filled_with,
    like,
)
from thalweg._src.training.variables.variable_scope import get_variable, variable_scope
from thalweg._src.training.variables.variables import Variable, trainable_variables


@export("train.Optimizer")
class Optimizer:
    """Base class of optimizers; subclasses define slots and the update of a variable by a gradient.

    A subclass overrides `_create_slots`, `_prepare`, `_resource_apply_dense` and `_resource_apply_sparse`, or the older
    `_apply_dense` and `_apply_sparse`, and `_finish`; of two methods with the same purpose, that of the most derived
    class is used.
    """

    GATE_NONE = 0  # each gradient is used as soon as it is available
    GATE_OP = 1  # the gradients of an operation are used once all of them are available
    GATE_GRAPH = 2  # gradients are used once all of them are available

    def __init__(self, use_locking: bool, name: str, use_own_namescope_for_non_slot_vars: bool = False) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Any, Any]] = {}
        self._non_slot_dict: dict[Any, Any] = {}
        self._non_slot_variable_scope: Any = None
        if use_own_namescope_for_non_slot_vars:
            with variable_scope(None, default_name=name) as scope:
                self._non_slot_variable_scope = scope

    def get_name(self) -> str:
        """Returns the name of the optimizer."""
        return self._name

    # -- the two halves of a step -------------------------------------------------------------------------------------

    def minimize(
        self,
        loss: TensorLike | Callable[[], TensorLike],
        global_step: Variable | None = None,
        var_list: object = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike | None = None,
    ) -> Any:
        """Returns the operation that computes the gradients of the loss and applies them."""
        grads_and_vars = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(grad is None for grad, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                f"between variables {[str(v) for _, v in grads_and_vars]} and loss {loss}."
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: TensorLike | Callable[[], TensorLike],
        var_list: object = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: TensorLike | None = None,
    ) -> list[tuple[Any, Any]]:
        """Returns pairs of gradient and variable; the gradient is None if the loss does not depend on the variable."""
        if callable(loss):
            if executing_eagerly_outside_functions():
                return self._compute_by_tape(loss, var_list, grad_loss)
            loss = loss()
        if executing_eagerly():
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled."
            )
        loss = scaled_loss(convert_to_tensor(loss))
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ValueError(
                f"gate_gradients: expected GATE_NONE, GATE_OP or GATE_GRAPH of Optimizer, received {gate_gradients}"
            )
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        if var_list is None:
            variables = trainable_variables() + get_collection(GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
        else:
            variables = list(flat_variables(var_list))
        if not variables:
            raise ValueError("No variables to optimize.")
        for variable in variables:
            if not isinstance(variable, Variable | Tensor):
                raise NotImplementedError(f"an optimizer updates variables, but {variable!r} is not a variable")
        grads = gradients(
            loss,
            variables,
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == Optimizer.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == Optimizer.GATE_GRAPH:
            grads = control.tuple(grads)
        self._assert_valid_dtypes([v for grad, v in zip(grads, variables) if grad is not None])
        return list(zip(grads, variables))

    def _compute_by_tape(
        self, loss: Callable[[], TensorLike], var_list: object, grad_loss: TensorLike | None
    ) -> list[tuple[Any, Any]]:
        """Returns the gradients of a function, by default of all trainable variables that it reads."""
        with GradientTape() as tape:
            if var_list is not None:
                tape.watch(list(flat_variables(var_list)))
            value = scaled_loss(convert_to_tensor(loss()))
        variables = list(tape.watched_variables() if var_list is None else flat_variables(var_list))
        if not variables:
            raise ValueError("No variables to optimize.")
        grads = tape.gradient(value, variables, grad_loss)
        self._assert_valid_dtypes([v for grad, v in zip(grads, variables) if grad is not None])
        return list(zip(grads, variables))

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Any:
        """Returns the operation that updates each variable by its gradient, then increments the global step.

        In a replica of a strategy, the gradients of all replicas are summed first, and all copies are updated.
        """
        grads_with_variables = present_gradients(list(grads_and_vars))
        mode = current_mode()
        if mode is not None and not mode.strategy._is_default:
            if mode.replica is None:
                raise RuntimeError(
                    "apply_gradients was called in a cross-replica context: call it in the function that the strategy "
                    "runs in each replica"
                )
            return mode.replica.merge_call(self._distributed_apply, args=(grads_with_variables, global_step, name))
        with init_scope():
            self._create_slots([variable for _, variable in grads_with_variables])
        with name_scope(name, self._name) as scope:
            self._prepare()
            updates = self._update_all(grads_with_variables)
            if global_step is None:
                applied = self._finish(updates, scope)
            else:
                with control_dependencies([self._finish(updates, "update")]), colocate_with(global_step):
                    applied = global_step.assign_add(1, name=scope, read_value=False)
        return _collected(applied)

    def _distributed_apply(
        self,
        distribution: Any,
        grads_and_vars: list[tuple[Any, Any]],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Any:
        """Returns the operation that sums the gradients of all replicas and updates all copies of each variable."""
        # One reduction for all gradients: strategies fuse them, and every copy of a variable gets the same sum. Copies
        # that start equal and get equal updates stay equal, which is all that keeps mirrored variables consistent.
        sums = distribution.extended.batch_reduce_to("SUM", grads_and_vars)
        return self._apply_sums(distribution, sums, [variable for _, variable in grads_and_vars], global_step, name)

    def _apply_sums(
        self, distribution: Any, sums: list[Any], variables: list[Any], global_step: Variable | None, name: str | None
    ) -> Any:
        """Returns the operation that updates all copies of each variable by the summed gradients of all replicas."""
        extended = distribution.extended
        with init_scope():
            self._create_slots(variables)

        def update(variable: Variable, grad: Tensor | IndexedSlices) -> Any:
            with name_scope(f"update_{variable._shared_name}"), colocate_with(variable):
                return self._update(grad, variable)

        with name_scope(name, self._name) as scope:
            self._prepare()
            updates = []
            for grad, variable in zip(sums, variables):
                updates += extended.update(variable, update, args=(grad,), group=False)
            places = extended.non_slot_devices(variables)
            finished = extended.update_non_slot(places, self._finish, args=(updates, "update"), group=False)
            if global_step is None:
                applied = control.group(*finished, name=scope)
            else:
                with control_dependencies(finished):
                    step = extended.update(global_step, lambda copy: copy.assign_add(1, read_value=False), group=False)
                applied = control.group(*step, name=scope)
        return _collected(applied)

    def _update_all(self, grads_and_vars: list[tuple[Any, Any]]) -> list[Any]:
        """Returns the updates of variables; in eager execution, one operation updates as many as it can."""
        # Fused updates: eager execution pays per operation, so that variables of one type on one device are updated by
        # one operation over lists of tensors. It computes what single updates do, element by element. Sparse gradients
        # and constraints need operations of their own, and a subclass that overrides how single updates are made is
        # left alone (`_updates_together`). In a graph single updates are kept, since the compiler fuses those itself.
        updates: list[Any] = []
        if stacks.is_plain and _updates_together(type(self)):  # type: ignore[arg-type]
            together, grads_and_vars = _alike(grads_and_vars)
            updates += [self._resource_apply_dense_together(*zip(*pairs)) for pairs in together]
        for grad, variable in grads_and_vars:
            with name_scope(f"update_{variable._shared_name}"), colocate_with(variable):
                updates.append(self._update(grad, variable))
        return updates

    def _update(self, grad: Tensor | IndexedSlices, variable: Variable) -> Any:
        if isinstance(grad, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError(
                    f"{variable.name!r} has a constraint: expected a dense gradient, received IndexedSlices"
                )
            if self._overrides("_apply_sparse_duplicate_indices", "_resource_apply_sparse_duplicate_indices"):
                return self._apply_sparse_duplicate_indices(grad, variable)
            return self._resource_apply_sparse_duplicate_indices(grad.values, variable, grad.indices)
        if self._overrides("_apply_dense", "_resource_apply_dense"):
            update = self._apply_dense(grad, variable)
        else:
            update = self._resource_apply_dense(grad, variable)
        if variable.constraint is None:
            return update
        with control_dependencies([update]):
            return variable.assign(variable.constraint(variable), read_value=False)

    def _overrides(self, method: str, rival: str) -> bool:
        """Returns whether a method is defined by a class at least as derived as that of the alternative.

        Programs that define both were run with the one for plain variables, TensorFlow 1's default.
        """
        definer = next(cls for cls in type(self).__mro__ if method in vars(cls) or rival in vars(cls))
        return definer is not Optimizer and method in vars(definer)

    # -- what subclasses override -------------------------------------------------------------------------------------

    def _valid_dtypes(self) -> set[DType]:
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _create_slots(self, var_list: list[Any]) -> None:
        """Creates the slots of each variable."""

    def _prepare(self) -> None:
        """Creates the tensors that all updates share."""

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        """Returns the update of a variable by a dense gradient."""
        if type(self)._apply_dense is Optimizer._apply_dense:
            raise NotImplementedError(f"{type(self).__name__} does not define an update by dense gradients")
        return self._apply_dense(grad, handle)

    def _resource_apply_dense_together(self, grads: Sequence[Any], variables: Sequence[Any]) -> Any:
        """Returns the update of several variables of one type by dense gradients, if one operation can do that."""
        raise NotImplementedError(f"{type(self).__name__} updates variables one by one")

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        return self._resource_apply_dense(grad, var)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, handle: Variable, indices: Tensor) -> Any:
        """Returns the update of rows with possibly repeated indices; sums the rows of equal indices first."""
        # The gradient of a row that was gathered several times is the sum of its rows. Optimizers are not linear in the
        # gradient (Adagrad adds its square, momentum decays once per update), so that updating per occurrence would be
        # another algorithm. A linear one, such as plain gradient descent, overrides this method and saves the sum.
        summed, rows = _sum_equal_indices(grad, indices)
        if self._overrides("_apply_sparse", "_resource_apply_sparse"):
            return self._apply_sparse(IndexedSlices(summed, rows), handle)
        return self._resource_apply_sparse(summed, handle, rows)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Any:
        return self._resource_apply_sparse_duplicate_indices(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: Tensor) -> Any:
        """Returns the update of distinct rows of a variable."""
        if type(self)._apply_sparse is Optimizer._apply_sparse:
            raise NotImplementedError(f"{type(self).__name__} does not define an update by sparse gradients")
        return self._apply_sparse(IndexedSlices(grad, indices), handle)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        return self._resource_apply_sparse(grad.values, var, grad.indices)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        """Returns the operation that completes after all updates."""
        return control.group(*update_ops, name=name_scope)

    # -- slots and other state ----------------------------------------------------------------------------------------

    def get_slot(self, var: Variable, name: str) -> Any:
        """Returns the slot of a variable under a name, or None."""
        return self._slots.get(name, {}).get(_var_key(var))

    def get_slot_names(self) -> list[str]:
        """Returns the names of the slots."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """Returns the optimizer's own variables in the default graph, sorted by name."""
        graph = get_default_graph()
        owned = [*self._non_slot_dict.values(), *(slot for slots in self._slots.values() for slot in slots.values())]
        return sorted((v for v in owned if v._owner_graph is graph), key=lambda v: v.name)

    def _slot_dict(self, slot_name: str) -> dict[Any, Any]:
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var: Variable, val: TensorLike, slot_name: str, op_name: str) -> Any:
        return self._slot(var, slot_name, lambda: create_slot(var, val, op_name))

    def _slot(self, var: Variable, slot_name: str, create: Callable[[], Any]) -> Any:
        slots, key = self._slot_dict(slot_name), _var_key(var)
        if key not in slots:
            slots[key] = create()
            child_added()
        return slots[key]

    def _get_or_make_slot_with_initializer(
        self,
        var: Variable,
        initializer: Callable[..., Any],
        shape: TensorShape,
        dtype: DTypeLike,
        slot_name: str,
        op_name: str,
    ) -> Any:
        return self._slot(var, slot_name, lambda: create_slot_with_initializer(var, initializer, shape, dtype, op_name))

    def _zeros_slot(self, var: Variable, slot_name: str, op_name: str) -> Any:
        return self._slot(var, slot_name, lambda: create_zeros_slot(var, op_name))

    def _constant_slot(self, var: Variable, value: float, slot_name: str, op_name: str) -> None:
        """Creates a slot with one initial value everywhere."""
        if var.get_shape().is_fully_defined():
            dtype = var.dtype.base_dtype
            self._get_or_make_slot_with_initializer(var, filled_with(value), var.get_shape(), dtype, slot_name, op_name)
        elif self.get_slot(var, slot_name) is None:
            self._get_or_make_slot(var, like(var, value), slot_name, op_name)

    def _handles(self, var: Variable, *slots: str) -> list[Any]:
        """Returns the handles of a variable and of its slots."""
        return [var._handle, *(self.get_slot(var, name)._handle for name in slots)]

    def _handles_together(self, variables: Sequence[Any], *slots: str) -> list[list[Any]]:
        """Returns the handles of several variables, and for each slot those of their slots."""
        keys = [_var_key(variable) for variable in variables]
        return [[v._handle for v in variables], *([self._slots[name][key]._handle for key in keys] for name in slots)]

    def _create_non_slot_variable(
        self, initial_value: TensorLike | Callable[..., Any], name: str, colocate_with: Variable
    ) -> Any:
        """Returns a variable of the optimizer itself, created on first use in each graph."""
        graph = colocate_with._owner_graph
        key = (name, _graph_key(graph))
        if key not in self._non_slot_dict:
            with graph.as_default(), beside(colocate_with):
                self._non_slot_dict[key] = self._new_non_slot_variable(initial_value, name, colocate_with)
            child_added()
        return self._non_slot_dict[key]

    def _new_non_slot_variable(
        self, initial_value: TensorLike | Callable[..., Any], name: str, beside: Variable
    ) -> Any:
        use_resource = getattr(beside, "uses_resource", None)
        if self._non_slot_variable_scope is None:
            return Variable(initial_value, name=name, trainable=False, use_resource=use_resource)
        with name_scope(""), variable_scope(self._non_slot_variable_scope):
            return get_variable(name, initializer=initial_value, trainable=False, use_resource=use_resource)

    def _get_non_slot_variable(self, name: str, graph: Graph | None = None) -> Any:
        return self._non_slot_dict.get((name, _graph_key(graph)))

    def _non_slot_variables(self) -> Iterable[Any]:
        return self._non_slot_dict.values()

    def _call_if_callable(self, param: TensorLike | Callable[[], TensorLike]) -> Any:
        return param() if callable(param) else param

    def _as_tensor(self, value: TensorLike | Callable[[], TensorLike], name: str) -> Tensor:
        """Returns a hyperparameter, a number, a tensor or a callable, as a tensor."""
        value = self._call_if_callable(value)
        if not stacks.is_plain or type(value) is not float:
            return convert_to_tensor(value, name=name)
        constants = self.__dict__.setdefault("_known_numbers", {})  # the same tensors in each eager step
        if value not in constants:
            constants[value] = convert_to_tensor(value)
        return constants[value]  # type: ignore[no-any-return]

    def _assert_valid_dtypes(self, tensors: Iterable[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            if tensor.dtype.base_dtype not in valid:
                names = sorted(dtype.name for dtype in valid)
                raise ValueError(f"Invalid type {tensor.dtype.name} for {tensor.name}, expected: {names}.")


def scaled_loss(loss: Tensor) -> Tensor:
    """Returns a loss whose gradients, summed over replicas, are those of the mean loss, where that is wanted."""
    mode = current_mode()
    if mode is None or mode.strategy.num_replicas_in_sync == 1 or not losses_are_averaged():
        return loss
    return multiply(loss, 1.0 / mode.strategy.num_replicas_in_sync)


def _var_key(var: Variable) -> tuple[Any, Any]:
    var = getattr(var, "_container", None) or var
    var = getattr(var, "primary", var)  # the first copy stands for all copies of a distributed variable
    # An optimizer keeps no variable alive.
    return (None, var._handle._id) if var._handle.is_eager else (var.op.graph, var.op.name)


@functools.lru_cache(maxsize=256)
def _updates_together(optimizer: type[Optimizer]) -> bool:
    """Returns whether an optimizer has one operation for several variables that does what it does for each of them."""
    together = "_resource_apply_dense_together"
    alternatives = {"_apply_dense", "_resource_apply_dense", "_update", together}
    definer = next(cls for cls in optimizer.__mro__ if not alternatives.isdisjoint(vars(cls)))
    return definer is not Optimizer and together in vars(definer)


def _alike(grads_and_vars: list[tuple[Any, Any]]) -> tuple[list[list[tuple[Any, Any]]], list[tuple[Any, Any]]]:
    """Returns the pairs that one operation can update, by type and device, and the others."""
    alike: dict[Any, list[tuple[Any, Any]]] = {}
    others = []
    for grad, variable in grads_and_vars:
        if variable.constraint is None and isinstance(grad, Tensor):
            alike.setdefault((grad.dtype, variable._handle.kind), []).append((grad, variable))
        else:
            others.append((grad, variable))
    return list(alike.values()), others


def _graph_key(graph: Graph | None) -> Any:
    """Returns the graph to which variables belong that are used in a graph; None for eager execution."""
    home = None if graph is None else outermost(graph)
    return None if home is None or home.executes else home


def flat_variables(variables: object) -> Iterable[Any]:
    if isinstance(variables, dict):
        variables = [variables[key] for key in sorted(variables)]
    if isinstance(variables, list | tuple | set):
        for item in variables:
            yield from flat_variables(item)
    elif isinstance(variables, Iterable) and not isinstance(variables, Variable | Tensor | str | bytes):
        for item in list(variables):
            yield from flat_variables(item)
    else:
        yield variables


def _require_variable(variable: object) -> Any:
    if not isinstance(variable, Variable):
        raise NotImplementedError(f"an optimizer updates variables, but {variable!r} is not a variable")
    return variable


def present_gradients(grads_and_vars: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Returns the pairs that have a gradient, at least one, as tensors and variables."""
    pairs = [(_as_gradient(grad), _require_variable(variable)) for grad, variable in grads_and_vars]
    if not pairs:
        raise ValueError("No variables provided.")
    present = [(grad, variable) for grad, variable in pairs if grad is not None]
    if not present:
        raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
    return present


def _collected(applied: Any) -> Operation:
    """Returns the operation of an update, after adding it to the collection TRAIN_OP."""
    if executing_eagerly():
        return applied  # type: ignore[no-any-return]
    operation: Operation = applied.op if isinstance(applied, Tensor) else applied
    train_ops = get_collection_ref(GraphKeys.TRAIN_OP)
    if operation not in train_ops:
        train_ops.append(operation)
    return operation


def _as_gradient(grad: object) -> Any:
    if grad is None or isinstance(grad, Tensor | IndexedSlices):
        return grad
    if isinstance(grad, Operation):
        raise TypeError(f"a gradient is a tensor, IndexedSlices or None, not the operation {grad.name!r}")
    try:
        return convert_to_tensor(grad)
    except TypeError as error:
        raise TypeError(f"a gradient is a tensor, IndexedSlices or None, not {grad!r}") from error


def _sum_equal_indices(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the summed rows of each distinct index, and the indices."""
    rows, positions = unique(indices)
    return unsorted_segment_sum(values, positions, shape(rows)[0]), rows
