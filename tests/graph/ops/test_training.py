"""The update ops against their formulas in NumPy float64, which TensorFlow 2.21's ops were found to follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thalweg._src.base import errors
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.op_def import OPS
from thalweg._src.graph.ops import training
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.reshape import transpose
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.variables.resource_variable import ResourceVariable as Variable
from thalweg._src.training.variables.variables import global_variables_initializer

Arrays = list[np.ndarray]
Formula = Callable[..., Arrays]


def gradient_descent(var: Any, *, alpha: float, delta: Any) -> Any:
    return [var - alpha * delta]


def momentum(var: Any, accum: Any, *, lr: float, momentum: float, grad: Any, use_nesterov: bool = False) -> Any:
    accum = momentum * accum + grad
    return [var - lr * (grad + momentum * accum if use_nesterov else accum), accum]


def keras_momentum(var: Any, accum: Any, *, lr: float, momentum: float, grad: Any, use_nesterov: bool = False) -> Any:
    accum = momentum * accum - lr * grad
    return [var + (momentum * accum - lr * grad if use_nesterov else accum), accum]


def adagrad(var: Any, accum: Any, *, lr: float, grad: Any, epsilon: float = 0.0, update_slots: bool = True) -> Any:
    accum = accum + grad**2 if update_slots else accum
    return [var - lr * grad / (np.sqrt(accum) + epsilon), accum]


def adadelta(var: Any, accum: Any, accum_update: Any, *, lr: float, rho: float, epsilon: float, grad: Any) -> Any:
    accum = rho * accum + (1 - rho) * grad**2
    update = np.sqrt(accum_update + epsilon) / np.sqrt(accum + epsilon) * grad
    return [var - lr * update, accum, rho * accum_update + (1 - rho) * update**2]


def rms_prop(var: Any, ms: Any, mom: Any, *, lr: float, rho: float, momentum: float, epsilon: float, grad: Any) -> Any:
    ms = rho * ms + (1 - rho) * grad**2
    mom = momentum * mom + lr * grad / np.sqrt(ms + epsilon)
    return [var - mom, ms, mom]


def centered_rms_prop(
    var: Any, mg: Any, ms: Any, mom: Any, *, lr: float, rho: float, momentum: float, epsilon: float, grad: Any
) -> Any:
    ms = rho * ms + (1 - rho) * grad**2
    mg = rho * mg + (1 - rho) * grad
    mom = momentum * mom + lr * grad / np.sqrt(ms - mg**2 + epsilon)
    return [var - mom, mg, ms, mom]


def adam(
    var: Any,
    m: Any,
    v: Any,
    vhat: Any = None,
    *,
    beta1_power: float,
    beta2_power: float,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: Any,
    use_nesterov: bool = False,
) -> Any:
    rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    slots = [m, v] if vhat is None else [m, v, np.maximum(vhat, v)]
    mean = beta1 * m + (1 - beta1) * grad if use_nesterov else m
    return [var - rate * mean / (np.sqrt(slots[-1]) + epsilon), *slots]


def ada_max(
    var: Any, m: Any, v: Any, *, beta1_power: float, lr: float, beta1: float, beta2: float, epsilon: float, grad: Any
) -> Any:
    m = beta1 * m + (1 - beta1) * grad
    v = np.maximum(beta2 * v, np.abs(grad))
    return [var - lr / (1 - beta1_power) * m / (v + epsilon), m, v]


def ftrl(
    var: Any,
    accum: Any,
    linear: Any,
    *,
    grad: Any,
    lr: float,
    l1: float,
    l2: float,
    lr_power: float,
    l2_shrinkage: float = 0.0,
    multiply_linear_by_lr: bool = False,
) -> Any:
    new = accum + grad**2
    sigma = (new**-lr_power - accum**-lr_power) / lr
    if multiply_linear_by_lr:
        linear = linear / lr
    linear = linear + grad + 2 * l2_shrinkage * var - sigma * var
    leader = (np.sign(linear) * l1 - linear) / (new**-lr_power / lr + 2 * l2)
    var = np.where(np.abs(linear) > l1, leader, 0)
    return [var, new, linear * lr if multiply_linear_by_lr else linear]


_ADAM = {"beta1_power": 0.81, "beta2_power": 0.95, "lr": 0.1, "beta1": 0.9, "beta2": 0.8, "epsilon": 1e-3}
_ADA_MAX = {key: _ADAM[key] for key in _ADAM if key != "beta2_power"}
_RMS = {"lr": 0.1, "rho": 0.8, "momentum": 0.5, "epsilon": 1e-2}
_FTRL = {"lr": 0.3, "l1": 0.6, "l2": 0.1, "lr_power": -0.5}
_FTRL_V2 = {"lr": 0.3, "l1": 0.6, "l2": 0.1, "l2_shrinkage": 0.2, "lr_power": -0.7}

CASES: dict[str, tuple[str, Formula, dict[str, float], dict[str, bool]]] = {
    "gradient_descent": ("ResourceApplyGradientDescent", gradient_descent, {"alpha": 0.1}, {}),
    "momentum": ("ResourceApplyMomentum", momentum, {"lr": 0.1, "momentum": 0.9}, {}),
    "nesterov": ("ResourceApplyMomentum", momentum, {"lr": 0.1, "momentum": 0.9}, {"use_nesterov": True}),
    "no_momentum": ("ResourceApplyMomentum", momentum, {"lr": 0.1, "momentum": 0.0}, {}),
    "keras_momentum": ("ResourceApplyKerasMomentum", keras_momentum, {"lr": 0.1, "momentum": 0.9}, {}),
    "keras_nesterov": (
        "ResourceApplyKerasMomentum",
        keras_momentum,
        {"lr": 0.1, "momentum": 0.9},
        {"use_nesterov": True},
    ),
    "adagrad": ("ResourceApplyAdagrad", adagrad, {"lr": 0.1}, {}),
    "adagrad_kept": ("ResourceApplyAdagrad", adagrad, {"lr": 0.1}, {"update_slots": False}),
    "adagrad_v2": ("ResourceApplyAdagradV2", adagrad, {"lr": 0.1, "epsilon": 0.2}, {}),
    "adadelta": ("ResourceApplyAdadelta", adadelta, {"lr": 0.5, "rho": 0.9, "epsilon": 1e-2}, {}),
    "rms_prop": ("ResourceApplyRMSProp", rms_prop, _RMS, {}),
    "centered_rms_prop": ("ResourceApplyCenteredRMSProp", centered_rms_prop, _RMS, {}),
    "adam": ("ResourceApplyAdam", adam, _ADAM, {}),
    "adam_nesterov": ("ResourceApplyAdam", adam, _ADAM, {"use_nesterov": True}),
    "adam_beta_one": ("ResourceApplyAdam", adam, {**_ADAM, "beta1": 1.0}, {}),
    "amsgrad": ("ResourceApplyAdamWithAmsgrad", adam, _ADAM, {}),
    "ada_max": ("ResourceApplyAdaMax", ada_max, _ADA_MAX, {}),
    "ftrl": ("ResourceApplyFtrl", ftrl, _FTRL, {}),
    "ftrl_by_lr": ("ResourceApplyFtrl", ftrl, _FTRL, {"multiply_linear_by_lr": True}),
    "ftrl_v2": ("ResourceApplyFtrlV2", ftrl, _FTRL_V2, {}),
}
SPARSE = [name for name, case in CASES.items() if case[0].replace("Apply", "SparseApply") in OPS]
GROUPS = {"ResourceApplyGradientDescent": "_ApplyGradientDescentGroup"}
GROUPS |= {"ResourceApplyMomentum": "_ApplyMomentumGroup", "ResourceApplyAdam": "_ApplyAdamGroup"}


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


def state_of(op: str, *shape: int, seed: int = 0) -> Arrays:
    """Returns a variable and its slots; slots are positive, as sums of squares are."""
    rng = np.random.default_rng(seed)
    count = sum(arg.dtype is not None and arg.dtype.name == "resource" for arg in OPS.lookup(op).inputs)
    values = [rng.normal(size=shape), *rng.uniform(0.5, 0.7, size=(count - 1, *shape))]
    return [value.astype("float32").astype("float64") for value in values]


def add_update(op: str, handles: Any, numbers: dict[str, Any], attrs: dict[str, bool], **tensors: Any) -> Any:
    """Adds an update, its inputs by name; each entry of `handles` is what the op takes for one resource argument."""
    resources = iter(handles)
    arguments = []
    for arg in OPS.lookup(op).inputs:
        if arg.dtype is not None and arg.dtype.name == "resource":
            arguments.append(next(resources))
        else:
            arguments.append(tensors[arg.name] if arg.name in tensors else numbers[arg.name])
    return OPS.lookup(op).operation(*arguments, **attrs)


def variables_of(values: Arrays, dtype: str = "float32") -> list[Any]:
    return [Variable(value.astype(dtype)) for value in values]


def check(variables: list[Any], update: Any, feeds: Any, expected: Arrays, rtol: float = 1e-5) -> None:
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(update, feeds)
        for value, wanted in zip(session.run(variables), expected):
            np.testing.assert_allclose(value, wanted, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 4)])
def test_whole_variables(name: str, fed: bool, shape: tuple[int, ...]) -> None:
    op, formula, numbers, attrs = CASES[name]
    state, grad = state_of(op, *shape), np.asarray(np.random.default_rng(1).normal(size=shape))
    with np.errstate(all="ignore"):
        expected = formula(*state, **{"delta" if name == "gradient_descent" else "grad": grad}, **numbers, **attrs)
    variables, fed_grad = variables_of(state), placeholder("float32", shape if fed else None)
    given = {key: placeholder("float32", []) if fed else value for key, value in numbers.items()}
    update = add_update(op, [v.handle for v in variables], given, attrs, grad=fed_grad, delta=fed_grad)
    feeds: dict[Any, Any] = {given[key]: value for key, value in numbers.items()} if fed else {}
    check(variables, update, {**feeds, fed_grad: grad}, expected)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-9), ("float16", 2e-2)])
def test_other_types(name: str, dtype: str, rtol: float) -> None:
    op, formula, numbers, attrs = CASES[name]
    state, grad = state_of(op, 2, 3), np.random.default_rng(1).normal(size=(2, 3)).astype(dtype)
    grads = {"delta" if name == "gradient_descent" else "grad": grad.astype("float64")}
    expected = formula(*state, **grads, **numbers, **attrs)
    variables, tensor = variables_of(state, dtype), constant(grad)
    given = {key: constant(value, dtype) for key, value in numbers.items()}
    update = add_update(op, [v.handle for v in variables], given, attrs, grad=tensor, delta=tensor)
    check(variables, update, {}, expected, rtol)


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("index_type", ["int32", "int64"])
def test_rows(name: str, index_type: str) -> None:
    op, formula, numbers, attrs = CASES[name]
    state, grad = state_of(op, 5, 2), np.random.default_rng(1).normal(size=(3, 2))
    rows = np.array([4, 0, 3], index_type)
    expected = [value.copy() for value in state]
    for whole, changed in zip(expected, formula(*[v[rows] for v in state], grad=grad, **numbers, **attrs)):
        whole[rows] = changed
    variables, tensor = variables_of(state), constant(grad.astype("float32"))
    sparse = op.replace("Apply", "SparseApply")
    update = add_update(sparse, [v.handle for v in variables], numbers, attrs, grad=tensor, indices=constant(rows))
    check(variables, update, {}, expected)


def test_equal_rows_are_updated_one_after_the_other() -> None:
    state = state_of("ResourceApplyAdagrad", 3, 1)
    grads = np.array([[1.0], [2.0], [3.0]])
    expected = [value.copy() for value in state]
    for row, grad in zip([1, 2, 1], grads):
        var, accum = adagrad(expected[0][row], expected[1][row], lr=0.1, grad=grad)
        expected[0][row], expected[1][row] = var, accum
    variables = variables_of(state)
    update = training.resource_sparse_apply_adagrad.operation(
        variables[0].handle, variables[1].handle, 0.1, constant(grads.astype("float32")), constant([1, 2, 1])
    )
    check(variables, update, {}, expected)


@pytest.mark.parametrize("name", [key for key, case in CASES.items() if case[0] in GROUPS])
@pytest.mark.parametrize("shared", [False, True])
def test_groups(name: str, shared: bool) -> None:
    """Updates several variables in one call; with `shared` two of them are the same one, updated twice."""
    op, formula, numbers, attrs = CASES[name]
    shapes = [(2, 3), (2, 3), (4,)]
    states = [state_of(op, *shape, seed=i) for i, shape in enumerate(shapes)]
    grads = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(shapes)]
    key = "delta" if name == "gradient_descent" else "grad"
    expected = [formula(*state, **{key: grad}, **numbers, **attrs) for state, grad in zip(states, grads)]
    variables = [variables_of(state) for state in states]
    if shared:
        variables[1] = variables[0]
        expected[0] = expected[1] = formula(*expected[0], **{key: grads[1]}, **numbers, **attrs)
    handles = [[members[kind].handle for members in variables] for kind in range(len(states[0]))]
    tensors = [constant(np.asfortranarray(grad.astype("float32"))) for grad in grads]
    update = add_update(GROUPS[op], handles, numbers, attrs, grad=tensors, delta=tensors)
    flat = [variable for members in variables for variable in members]
    check(flat, update, {}, [value for members in expected for value in members])


def test_gradients_that_are_not_contiguous() -> None:
    w, x = Variable(np.zeros((2, 3), "float32")), placeholder("float32", [3, 2])
    update = training.resource_apply_gradient_descent.operation(w.handle, -1.0, transpose(x))
    grad = np.arange(6, dtype="float32").reshape(3, 2)
    check([w], update, {x: grad}, [grad.T])


def test_handles_that_are_known_only_in_the_step() -> None:
    variables = variables_of(state_of("ResourceApplyMomentum", 2))
    handles = [identity(v.handle) for v in variables]
    before = state_of("ResourceApplyMomentum", 2)
    update = training.resource_apply_momentum.operation(*handles, 0.1, constant([1.0, 2.0]), 0.9)
    check(variables, update, {}, momentum(*before, lr=0.1, momentum=0.9, grad=np.array([1.0, 2.0])))


def test_shapes_are_checked_when_the_graph_is_built() -> None:
    w, m = Variable([1.0, 2.0]), Variable([0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match=r"grad has shape \[2\]"):
        training.resource_apply_momentum.operation(w.handle, m.handle, 0.1, constant([1.0, 2.0]), 0.9)
    with pytest.raises(ValueError, match=r"alpha has shape \[1\]"):
        training.resource_apply_gradient_descent.operation(w.handle, constant([0.1]), constant([1.0, 2.0]))
    e = Variable(np.ones((4, 2), "float32"))
    sparse = training.resource_sparse_apply_adagrad
    with pytest.raises(ValueError, match="indices of rank 1"):
        sparse.operation(e.handle, e.handle, 0.1, constant([[1.0, 1.0]]), constant([[0]]))
    with pytest.raises(ValueError, match=r"grad has shape \[1, 3\]"):
        sparse.operation(e.handle, e.handle, 0.1, constant([[1.0, 1.0, 1.0]]), constant([0]))
    with pytest.raises(ValueError, match=r"delta has shape \[2\]"):
        training.apply_gradient_descent_group.operation(
            [w.handle, m.handle], 0.1, [constant([1.0, 2.0]), constant([1.0, 2.0])]
        )


@pytest.mark.parametrize("op", ["ResourceApplyGradientDescent", "ResourceApplyAdagrad", "ResourceSparseApplyAdagrad"])
def test_shapes_are_checked_in_the_step(op: str) -> None:
    variables, grad = variables_of(state_of(op, 4, 2)), placeholder("float32", None)
    numbers = {"lr": 0.1, "alpha": 0.1}
    handles = [v.handle for v in variables]
    update = add_update(op, handles, numbers, {}, grad=grad, delta=grad, indices=constant([1, 2]))
    with Session() as session:
        session.run(global_variables_initializer())
        before = session.run(variables)
        with pytest.raises(errors.InvalidArgumentError, match=r"has shape \[1\]"):
            session.run(update, {grad: [1.0]})
        np.testing.assert_array_equal(session.run(variables), before)


def test_integers_have_no_kernel() -> None:
    w = Variable([1, 2])
    update = training.resource_apply_gradient_descent.operation(w.handle, constant(1), constant([1, 1]))
    with Session() as session, pytest.raises(errors.OpError, match="no kernel"):
        session.run(update)


def test_adam_of_complex_numbers() -> None:
    state, grad = [np.array([1 + 2j, -3j]), np.array([0.5j, 1]), np.array([2 + 1j, 3])], np.array([1 - 1j, 2j])
    numbers = {"beta1_power": 0.9, "beta2_power": 0.99, "lr": 0.1, "beta1": 0.8, "beta2": 0.7, "epsilon": 1e-3}
    variables, tensor = variables_of(state, "complex128"), constant(grad)
    given = {key: constant(value, "complex128") for key, value in numbers.items()}
    update = add_update("ResourceApplyAdam", [v.handle for v in variables], given, {}, grad=tensor)
    check(variables, update, {}, adam(*state, grad=grad, **numbers))
