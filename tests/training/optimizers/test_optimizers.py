"""Optimizers against TensorFlow's own numbers, and the protocol that users' own optimizers rely on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.training.optimizers.optimizer_numbers import EXPECTED, OPTIMIZERS, train
from thalweg._src.base import errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import maximum, multiply, square
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.scopes import GraphKeys, control_dependencies, device, get_collection, name_scope
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.optimizers import optimizers, proximal
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.variables import global_step
from thalweg._src.training.variables.variable_scope import get_variable
from thalweg._src.training.variables.variables import (
    Variable,
    global_variables,
    global_variables_initializer,
    variables_initializer,
)

thalweg = SimpleNamespace(
    Graph=Graph,
    Variable=Variable,
    placeholder=placeholder,
    constant=constant,
    IndexedSlices=IndexedSlices,
    Session=Session,
    global_variables_initializer=global_variables_initializer,
    train=SimpleNamespace(**{**vars(optimizers), **vars(proximal), **vars(global_step)}),
)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_results_match_tensorflow(name: str) -> None:
    np.testing.assert_allclose(train(thalweg, name), EXPECTED[name], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_results_in_float64(name: str) -> None:
    np.testing.assert_allclose(train(thalweg, name, "float64"), EXPECTED[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [key for key in OPTIMIZERS if key != "adam"])  # whose epsilon is 0 in float16
def test_results_in_float16(name: str) -> None:
    np.testing.assert_allclose(train(thalweg, name, "float16"), EXPECTED[name], rtol=3e-2, atol=3e-2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["gradient_descent", "momentum", "nesterov", "no_momentum", "adam_betas"])
def test_long_variables_of_16_bits_follow_those_of_64(name: str, dtype: str) -> None:
    """Long enough for native code that computes with whole registers."""

    def results(dtype: str) -> Any:
        with device("/cpu:0"):
            start, grad = (cast(np.linspace(low, 1, 100), dtype) for low in (-1, 0))
            variable = Variable(start, use_resource=True)
            step = OPTIMIZERS[name](thalweg).apply_gradients([(grad, variable)])
        return run(step, cast(variable, "float32"), times=3)[0]

    np.testing.assert_allclose(results(dtype), results("float64"), atol=2e-2)


def run(step: Any, *fetches: Any, times: int = 1, feeds: Any = None) -> list[Any]:
    with Session() as session:
        session.run(global_variables_initializer())
        for _ in range(times):
            session.run(step, feeds)
        return session.run(list(fetches))


def test_minimize_finds_the_minimum() -> None:
    x = Variable([5.0, -3.0])
    loss = reduce_sum(square(x))
    (value,) = run(optimizers.AdamOptimizer(0.1).minimize(loss), x, times=300)
    np.testing.assert_allclose(value, [0, 0], atol=1e-2)


def test_names_of_slots_and_other_variables() -> None:
    w = Variable([1.0], name="w")
    adam, momentum = optimizers.AdamOptimizer(), optimizers.MomentumOptimizer(0.1, 0.9)
    for optimizer in (adam, momentum):
        optimizer.minimize(square(w))
    names = [v.op.name for v in global_variables()]
    assert names == ["w", "beta1_power", "beta2_power", "w/Adam", "w/Adam_1", "w/Momentum"]
    assert adam.get_slot_names() == ["m", "v"]
    assert adam.get_slot(w, "m").op.name == "w/Adam"
    assert adam.get_slot(w, "momentum") is None
    assert momentum.get_slot(w, "momentum").op.name == "w/Momentum"
    assert [v.op.name for v in adam.variables()] == ["beta1_power", "beta2_power", "w/Adam", "w/Adam_1"]
    assert adam.get_name() == "Adam"
    with Graph().as_default():
        assert adam.variables() == []


def test_slots_are_created_once() -> None:
    w = Variable([1.0], name="w")
    optimizer = optimizers.AdamOptimizer()
    optimizer.minimize(square(w))
    count = len(global_variables())
    optimizer.minimize(square(w))
    assert len(global_variables()) == count


def test_own_name_scope_for_other_variables() -> None:
    w = Variable([1.0], name="w")
    optimizer = optimizers.AdamOptimizer(use_own_namescope_for_non_slot_vars=True)
    with name_scope("train"):
        optimizer.minimize(square(w))
    assert [v.op.name for v in optimizer.variables()][:2] == ["Adam/beta1_power", "Adam/beta2_power"]


def test_slots_of_a_variable_of_unknown_shape() -> None:
    w = Variable(placeholder("float32", None), validate_shape=False, name="w")
    for optimizer in (
        optimizers.RMSPropOptimizer(0.1),
        optimizers.AdagradOptimizer(0.1),
        optimizers.FtrlOptimizer(0.1),
    ):
        optimizer.apply_gradients([(constant([1.0, 2.0]), w)])
    with Session() as session:
        session.run(w.initializer, {w.initial_value: [3.0, 4.0]})
        others = [v for v in global_variables() if v is not w]
        session.run(variables_initializer(others), {w.initial_value: [3.0, 4.0]})
        assert session.run(others[0]).tolist() == [1, 1]
        session.run(get_collection(GraphKeys.TRAIN_OP))


def test_global_step_counts_after_the_updates() -> None:
    step = global_step.create_global_step()
    w = Variable([2.0])
    update = optimizers.GradientDescentOptimizer(0.5).minimize(square(w), global_step=step)
    assert get_collection(GraphKeys.TRAIN_OP) == [update]
    value, count = run(update, w, step, times=3)
    assert value.tolist() == [0.0] and count == 3


def test_global_step_of_a_graph() -> None:
    assert global_step.get_global_step() is None
    step = global_step.get_or_create_global_step()
    assert global_step.get_or_create_global_step() is step is global_step.get_global_step()
    assert step.dtype.name == "int64_ref" and step.op.name == "global_step"
    with pytest.raises(ValueError, match="already exists"):
        global_step.create_global_step()
    with Session() as session:
        session.run(global_variables_initializer())
        assert global_step.global_step(session, step) == 0


def test_global_step_by_name() -> None:
    step = Variable(0, name="global_step", trainable=False)
    assert global_step.get_global_step() is step


@pytest.mark.parametrize(
    "value, match", [(1, "expected a variable"), (constant, "expected a variable"), ([1.0], "integer"), ([1], "scalar")]
)
def test_global_step_must_be_an_integer_scalar(value: Any, match: str) -> None:
    with pytest.raises(TypeError, match=match):
        global_step.assert_global_step(constant(value) if isinstance(value, list) else value)


def test_rates_are_numbers_tensors_or_functions() -> None:
    rate = placeholder("float32", [])
    values = []
    for given in (0.5, constant(0.5), lambda: 0.5, rate):
        w = Variable([1.0, 2.0])
        step = optimizers.GradientDescentOptimizer(given).apply_gradients([(constant([1.0, 1.0]), w)])
        values.append(run(step, w, feeds={rate: 0.5})[0].tolist())
    assert values == [[0.5, 1.5]] * 4


def test_adam_takes_rate_and_epsilon_from_the_step() -> None:
    rate, epsilon = placeholder("float32", []), placeholder("float32", [])
    w, x = Variable([1.0, -2.0]), Variable([1.0, -2.0])
    grad = constant([0.3, -0.2])
    fed = optimizers.AdamOptimizer(rate, 0.8, 0.9, lambda: epsilon).apply_gradients([(grad, w)])
    known = optimizers.AdamOptimizer(0.1, 0.8, 0.9, 1e-3).apply_gradients([(grad, x)])
    a, b = run([fed, known], w, x, times=3, feeds={rate: 0.1, epsilon: 1e-3})
    np.testing.assert_allclose(a, b, rtol=1e-6)


def test_updates_of_one_optimizer_are_one_call() -> None:
    variables = [Variable(np.full((3, i), 1.0, "float32")) for i in range(1, 5)]
    grads = [constant(np.full((3, i), 0.5, "float32")) for i in range(1, 5)]
    for optimizer in (
        optimizers.AdamOptimizer(0.1),
        optimizers.MomentumOptimizer(0.1, 0.9),
        optimizers.GradientDescentOptimizer(0.1),
    ):
        step = optimizer.apply_gradients(zip(grads, variables))
        with Session() as session:
            assert session.show_program([step]).count("update(") == 1


def test_none_gradients_are_skipped() -> None:
    w, unused = Variable([1.0]), Variable([7.0])
    pairs = optimizers.GradientDescentOptimizer(0.1).compute_gradients(square(w))
    assert [(grad is None, v) for grad, v in pairs] == [(False, w), (True, unused)]
    a, b = run(optimizers.GradientDescentOptimizer(0.1).apply_gradients(pairs), w, unused)
    np.testing.assert_allclose([a, b], [[0.8], [7.0]], rtol=1e-6)


def test_errors() -> None:
    optimizer = optimizers.GradientDescentOptimizer(0.1)
    w = Variable([1.0])
    with pytest.raises(ValueError, match="No gradients provided"):
        optimizer.minimize(constant(1.0))
    with pytest.raises(ValueError, match="No gradients provided"):
        optimizer.apply_gradients([(None, w)])
    with pytest.raises(ValueError, match="No variables provided"):
        optimizer.apply_gradients([])
    with pytest.raises(ValueError, match="No variables to optimize"):
        optimizer.minimize(square(w), var_list=[])
    with pytest.raises(ValueError, match="gate_gradients: expected"):
        optimizer.minimize(square(w), gate_gradients=7)
    with pytest.raises(ValueError, match="Invalid type int32"):
        optimizer.minimize(constant(1))
    with pytest.raises(TypeError, match="a gradient is a tensor"):
        optimizer.apply_gradients([(object(), w)])
    with pytest.raises(NotImplementedError, match="but 3 is not a variable"):
        optimizer.minimize(square(w), var_list=[3])
    with pytest.raises(NotImplementedError, match="updates variables"):
        optimizer.apply_gradients([(constant(1.0), constant(2.0))])
    with pytest.raises(ValueError, match="Must specify the optimizer name"):
        Optimizer(False, "")
    with pytest.raises(ValueError, match="initial_accumulator_value must be positive"):
        optimizers.AdagradOptimizer(0.1, 0.0)
    with pytest.raises(ValueError, match=r"l1_regularization_strength: expected at least 0, received -1\.0"):
        optimizers.FtrlOptimizer(0.1, l1_regularization_strength=-1.0)


def test_a_gradient_of_a_wrong_shape_is_rejected_at_graph_construction() -> None:
    w = Variable([1.0, 2.0], name="w")
    with pytest.raises(ValueError, match=r"grad has shape \[3\]"):
        optimizers.AdamOptimizer().apply_gradients([(constant([1.0, 2.0, 3.0]), w)])


def test_a_gradient_of_a_wrong_shape_is_rejected_in_the_step() -> None:
    w = Variable([1.0, 2.0], name="w")
    grad = placeholder("float32", None)
    step = optimizers.AdamOptimizer().apply_gradients([(grad, w)])
    with pytest.raises(errors.InvalidArgumentError, match=r"grad has shape \[3\]"):
        run(step, feeds={grad: [1.0, 2.0, 3.0]})


def test_uninitialized_variables_are_named() -> None:
    w = Variable([1.0, 2.0], name="w")
    step = optimizers.MomentumOptimizer(0.1, 0.9).minimize(reduce_sum(square(w)))
    with Session() as session:
        session.run(w.initializer)
        with pytest.raises(errors.FailedPreconditionError, match="uninitialized value w/Momentum"):
            session.run(step)


@pytest.mark.parametrize("gate", [Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH])
def test_gate_gradients(gate: int) -> None:
    w, x = Variable([1.0]), Variable([2.0])
    step = optimizers.GradientDescentOptimizer(0.1).minimize(multiply(w, x), gate_gradients=gate)
    a, b = run(step, w, x)
    np.testing.assert_allclose([a, b], [[0.8], [1.9]], rtol=1e-6)


def test_compute_gradients_with_respect_to_a_tensor() -> None:
    x = constant([3.0])
    ((grad, source),) = optimizers.GradientDescentOptimizer(0.1).compute_gradients(square(x), [x])
    assert source is x
    with Session() as session:
        assert session.run(grad).tolist() == [6.0]


def test_grad_loss_and_var_list() -> None:
    w, x = Variable([1.0]), Variable([2.0])
    step = optimizers.GradientDescentOptimizer(0.1).minimize(multiply(w, x), var_list=[x], grad_loss=constant([3.0]))
    a, b = run(step, w, x)
    np.testing.assert_allclose([a, b], [[1.0], [1.7]], rtol=1e-6)


def test_a_constraint_is_applied_after_the_update() -> None:
    w = Variable([1.0, 5.0], constraint=lambda v: maximum(v, 2.0))
    (value,) = run(optimizers.GradientDescentOptimizer(1.0).apply_gradients([(constant([1.0, 1.0]), w)]), w)
    assert value.tolist() == [2.0, 4.0]
    rows = IndexedSlices(constant([1.0]), constant([0]), constant([2]))
    with pytest.raises(RuntimeError, match="has a constraint: expected a dense gradient"):
        optimizers.GradientDescentOptimizer(1.0).apply_gradients([(rows, w)])


def test_sparse_adam_decays_the_moments_of_all_rows() -> None:
    e = Variable(np.ones((3, 1), "float32"))
    values, indices = placeholder("float32", [1, 1]), placeholder("int64", [1])
    optimizer = optimizers.AdamOptimizer(0.1, 0.5, 0.9)
    step = optimizer.apply_gradients([(IndexedSlices(values, indices, constant([3, 1])), e)])
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(step, {values: [[2.0]], indices: [0]})
        session.run(step, {values: [[2.0]], indices: [1]})
        mean = session.run(optimizer.get_slot(e, "m"))
    np.testing.assert_allclose(mean, [[0.5], [1.0], [0.0]], rtol=1e-6)


def test_rows_out_of_range_are_rejected() -> None:
    e = Variable(np.ones((3, 2), "float32"))
    indices = placeholder("int32", [2])
    rows = IndexedSlices(constant(np.ones((2, 2), "float32")), indices, constant([3, 2]))
    for optimizer in (optimizers.MomentumOptimizer(0.1, 0.9), optimizers.FtrlOptimizer(0.1)):
        step = optimizer.apply_gradients([(rows, e)])
        for bad in ([0, 3], [-1, 0]):
            with pytest.raises(errors.InvalidArgumentError, match=r"is not in \[0, 3\)"):
                run(step, feeds={indices: bad})


def test_values_read_before_an_update_do_not_change() -> None:
    w = Variable([1.0, 2.0])
    before = identity(w)
    with control_dependencies([before]):
        step = optimizers.AdamOptimizer(0.1).apply_gradients([(constant([1.0, 1.0]), w)])
    with Session() as session:
        session.run(global_variables_initializer())
        held, _ = session.run([before, step])
        later = session.run(w)
        session.run(step)
    assert held.tolist() == [1.0, 2.0]
    np.testing.assert_allclose(later, [0.9, 1.9], rtol=1e-6)


def test_a_gradient_that_is_the_variable_itself() -> None:
    w = Variable([1.0, -2.0])
    (value,) = run(optimizers.MomentumOptimizer(0.5, 0.9).apply_gradients([(w.value(), w)]), w)
    assert value.tolist() == [0.5, -1.0]


def test_updates_happen_in_place() -> None:
    w = Variable(np.ones(1000, "float32"))
    step = optimizers.AdamOptimizer(0.1).minimize(reduce_sum(square(w)))
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(step)
        (buffer,) = [r for r in session._backend._resources._default.values() if r.name == w.op.name]
        address = buffer.value.data_ptr()
        session.run(step)
        assert buffer.value.data_ptr() == address


class _Sign(Optimizer):
    """A user's optimizer in the older protocol."""

    def __init__(self, rate: float) -> None:
        super().__init__(False, "Sign")
        self._rate = rate

    def _create_slots(self, var_list: Any) -> None:
        for v in var_list:
            self._zeros_slot(v, "sum", self._name)

    def _prepare(self) -> None:
        self._rate_t = constant(self._call_if_callable(self._rate))

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        total = self.get_slot(var, "sum").assign_add(grad)
        return var.assign_sub(multiply(total, self._rate_t))

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return var.scatter_sub(IndexedSlices(multiply(grad.values, self._rate_t), grad.indices))


def test_an_optimizer_with_the_older_methods() -> None:
    w, e = Variable([1.0, 2.0]), Variable([[1.0], [2.0], [3.0]])
    rows = IndexedSlices(constant([[1.0], [2.0]]), constant([1, 1]), constant([3, 1]))
    step = _Sign(0.5).apply_gradients([(constant([1.0, 1.0]), w), (rows, e)])
    a, b = run(step, w, e, times=2)
    assert a.tolist() == [-0.5, 0.5]
    assert b.ravel().tolist() == [1.0, -1.0, 3.0]


class _OfBothProtocols(_Sign):
    """Defines the newer methods as well, which plain variables do not use."""

    _apply_dense, _apply_sparse = _Sign._apply_dense, _Sign._apply_sparse

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        raise NotImplementedError

    _resource_apply_sparse = _resource_apply_dense


def test_the_older_methods_take_precedence() -> None:
    w = Variable([1.0, 2.0])
    (value,) = run(_OfBothProtocols(0.5).apply_gradients([(constant([1.0, 1.0]), w)]), w)
    assert value.tolist() == [0.5, 1.5]


class _DecayingAdam(optimizers.AdamOptimizer):
    """A user's subclass that adds weight decay to the older method of an existing optimizer."""

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        decayed = var.assign(multiply(var.value(), 0.5))
        with control_dependencies([decayed]):
            return super()._apply_dense(grad, var)


def test_a_subclass_of_an_optimizer_extends_the_older_method() -> None:
    w = Variable([1.0, 2.0])
    (value,) = run(_DecayingAdam(0.1).apply_gradients([(constant([1.0, 1.0]), w)]), w)
    np.testing.assert_allclose(value, [0.4, 0.9], rtol=1e-5)


def test_an_optimizer_without_an_update() -> None:
    w = Variable([1.0])
    with pytest.raises(NotImplementedError, match="does not define an update by dense gradients"):
        Optimizer(False, "Nothing").apply_gradients([(constant([1.0]), w)])
    rows = IndexedSlices(constant([1.0]), constant([0]), constant([1]))
    with pytest.raises(NotImplementedError, match="does not define an update by sparse gradients"):
        Optimizer(False, "Nothing").apply_gradients([(rows, w)])


def test_embedding_gradients_are_applied_sparsely() -> None:
    table = get_variable("table", initializer=np.ones((5, 2), "float32"))
    loss = reduce_sum(square(table.sparse_read(constant([1, 1, 3]))))
    (grad,) = gradients(loss, [table])
    assert isinstance(grad, IndexedSlices)
    step = optimizers.AdagradOptimizer(1.0, initial_accumulator_value=1.0).minimize(loss)
    assert any(op.type == "SparseApplyAdagrad" for op in get_default_graph().get_operations())
    (value,) = run(step, table)
    changed = 1 - 4 / np.sqrt(17), 1 - 2 / np.sqrt(5)
    np.testing.assert_allclose(value[:, 0], [1, changed[0], 1, changed[1], 1], rtol=1e-5)
