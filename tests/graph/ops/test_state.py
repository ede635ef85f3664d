"""Variables behind handles: reads, writes, scatters, their gradients, and what may share memory."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from thalweg._src.base import dtypes, errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops import state
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import add, multiply
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.runtime.resources.variables import VariableResource
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.variables.assign import assign
from thalweg._src.training.variables.resource_variable import ResourceVariable as Variable


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


def started(*variables: Variable) -> Session:
    session = Session()
    session.run([variable.initializer for variable in variables])
    return session


def handle(shape: Any = (2,), dtype: Any = dtypes.float32, name: str = "v") -> Any:
    return state.var_handle_op(dtype=dtype, shape=shape, shared_name=name, name=name)


def test_read_of_an_uninitialized_variable_names_it() -> None:
    value = state.read_variable_op(handle(name="layer/weights"), dtype=dtypes.float32)
    with Session() as session, pytest.raises(errors.FailedPreconditionError) as error:
        session.run(value)
    assert "uninitialized value layer/weights" in str(error.value)
    assert "test_state.py" in str(error.value)


def test_static_shapes_come_from_the_handle() -> None:
    h = handle((3, 5))
    assert state.read_variable_op(h, dtype=dtypes.float32).dims == (3, 5)
    assert state.resource_gather(h, [[0, 1]], dtype=dtypes.float32).dims == (1, 2, 5)
    assert state.resource_gather_nd(h, [[0, 1], [2, 3]], dtype=dtypes.float32).dims == (2,)
    assert state.variable_shape(h).dims == (2,)
    assert state.read_variable_op(identity(h), dtype=dtypes.float32).dims == (3, 5)
    with pytest.raises(ValueError, match="has type float32"):
        state.read_variable_op(h, dtype=dtypes.int32)


def test_a_handle_may_come_through_another_operation() -> None:
    v = Variable([1.0, 2.0])
    h = identity(v.handle)
    write = state.assign_add_variable_op.operation(h, [1.0, 1.0])
    with control_dependencies([write]):
        value = state.read_variable_op(h, dtype=dtypes.float32)
    session = started(v)
    assert session.run(value).tolist() == [2, 3]
    assert session.run(state.variable_shape(h)).tolist() == [2]
    assert session.run(state.var_is_initialized_op(h))
    session.run(state.destroy_resource_op.operation(h))
    assert not session.run(v.is_initialized())


def test_shapes_of_assigned_values_are_checked_when_the_graph_is_built() -> None:
    h = handle((2, None))
    for definition in (state.assign_variable_op, state.assign_add_variable_op, state.assign_sub_variable_op):
        with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal"):
            definition.operation(h, np.zeros((3, 4), np.float32))
        definition.operation(h, np.zeros((2, 4), np.float32))


def test_shapes_of_assigned_values_are_checked_in_the_step() -> None:
    v = Variable([1.0, 2.0], name="v")
    x = placeholder(dtypes.float32)
    writes = [v.assign(x), v.assign_add(x), v.assign_sub(x)]
    session = started(v)
    for write in writes:
        for bad in (1.0, np.ones(3), np.ones((1, 2))):
            with pytest.raises(errors.InvalidArgumentError, match=r"a value of shape \[2\]"):
                session.run(write, {x: bad})
    assert session.run(v).tolist() == [1, 2]


@pytest.mark.parametrize("dtype", sorted(dtypes.NUMERIC - {dtypes.bfloat16}, key=int))
def test_assign_add_and_sub_in_every_type(dtype: Any) -> None:
    start = np.array([[7, 5, 3]], dtype.as_numpy_dtype)
    v = Variable(start)
    plus, minus = v.assign_add(start), v.assign_sub([[1, 2, 3]])
    session = started(v)
    assert session.run(plus).dtype == start.dtype
    np.testing.assert_array_equal(session.run(v), start * 2)
    np.testing.assert_array_equal(session.run(minus), [[13, 8, 3]])


def test_values_of_bools_and_strings() -> None:
    flags, words = Variable([True, False]), Variable(["a", "b"])
    session = started(flags, words)
    assert session.run(flags).tolist() == [True, False]
    assert session.run(words).tolist() == [b"a", b"b"]
    assert session.run(words.assign(["c", "d"])).tolist() == [b"c", b"d"]
    assert session.run(words.scatter_nd_update([[1]], ["e"])).tolist() == [b"c", b"e"]
    assert session.run(words.sparse_read([1, 0])).tolist() == [b"e", b"c"]
    with pytest.raises(errors.UnimplementedError, match="no kernel"):
        session.run(flags.assign_add([True, True]))


def test_scatter_adds_up_duplicates() -> None:
    v = Variable(np.zeros((3, 2), np.float32))
    write = state.resource_scatter_add.operation(v.handle, [2, 0, 2], np.ones((3, 2), np.float32))
    session = started(v)
    session.run(write)
    assert session.run(v).tolist() == [[1, 1], [0, 0], [2, 2]]


REFERENCE = {
    "Update": lambda a, b: b,
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": lambda a, b: a / b if a.dtype.kind == "f" else a // b,
    "Min": np.minimum,
    "Max": np.maximum,
}


DUPLICATES = pytest.mark.cpu_only(reason="which of several updates of a row stays is undefined on a GPU")


@pytest.mark.parametrize("verb", [pytest.param("Update", marks=DUPLICATES), *list(REFERENCE)[1:]])
@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
)
def test_scatter_follows_the_order_of_indices(verb: str, dtype: Any) -> None:
    rng = np.random.default_rng(3)
    start = rng.integers(20, 40, (5, 3)).astype(dtype)
    if dtype is np.uint64:
        start += np.uint64(2**63 - 30)  # on both sides of what a signed number holds
    indices = np.array([[4, 1], [4, 0], [4, 3]], np.int32)
    updates = rng.integers(1, 4, (3, 2, 3)).astype(dtype)
    expected = start.copy()
    for index, update in zip(indices.ravel(), updates.reshape(-1, 3)):
        expected[index] = REFERENCE[verb](expected[index], update)
    v = Variable(start)
    session = started(v)
    session.run(getattr(state, f"resource_scatter_{verb.lower()}").operation(v.handle, indices, updates))
    np.testing.assert_allclose(session.run(v), expected, rtol=1e-6 if start.dtype.kind == "f" else 0)


def test_scatter_accepts_scalars_and_empty_indices() -> None:
    v = Variable([1.0, 2.0, 3.0])
    session = started(v)
    session.run(state.resource_scatter_mul.operation(v.handle, [0, 2, 2], 3.0))
    assert session.run(v).tolist() == [3, 2, 27]
    for verb in REFERENCE:
        write = getattr(state, f"resource_scatter_{verb.lower()}")
        session.run(write.operation(v.handle, np.zeros(0, np.int32), np.zeros(0, np.float32)))
    assert session.run(v).tolist() == [3, 2, 27]


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
@pytest.mark.parametrize("bad", [-1, 3])
def test_indices_out_of_range_change_nothing(bad: int) -> None:
    v = Variable([1.0, 2.0, 3.0])
    session = started(v)
    for verb in REFERENCE:
        write = getattr(state, f"resource_scatter_{verb.lower()}").operation(v.handle, [0, bad], [5.0, 5.0])
        with pytest.raises(errors.InvalidArgumentError, match=rf"indices\[1\] = {bad} is not in \[0, 3\)"):
            session.run(write)
    for verb in ("add", "sub", "update"):
        write = getattr(state, f"resource_scatter_nd_{verb}").operation(v.handle, [[0], [bad]], [5.0, 5.0])
        with pytest.raises(errors.InvalidArgumentError, match=r"not in \[0, 3\)"):
            session.run(write)
    for read in (v.sparse_read([0, bad]), v.gather_nd([[0], [bad]])):
        with pytest.raises(errors.InvalidArgumentError, match=r"not in \[0, 3\)"):
            session.run(read)
    assert session.run(v).tolist() == [1, 2, 3]


def test_updates_must_fit_the_indices() -> None:
    v = Variable(np.zeros((4, 3), np.float32))
    with pytest.raises(ValueError, match=r"updates of shape \[2, 3\]"):
        state.resource_scatter_add.operation(v.handle, [0, 1], np.ones((2, 2), np.float32))
    with pytest.raises(ValueError, match=r"updates of shape \[2\]"):
        state.resource_scatter_nd_add.operation(v.handle, [[0, 1], [1, 1]], np.ones((2, 3), np.float32))
    with pytest.raises(ValueError, match="rank 2"):
        state.resource_scatter_nd_add.operation(v.handle, [[0, 1, 1]], np.ones(1, np.float32))
    x = placeholder(dtypes.float32)
    write = state.resource_scatter_add.operation(v.handle, [0, 1], x)
    session = started(v)
    with pytest.raises(errors.InvalidArgumentError, match=r"updates of shape \[2, 3\]"):
        session.run(write, {x: np.ones((3, 2))})


def test_scatter_nd_and_gather_nd() -> None:
    start = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    v = Variable(start)
    session = started(v)
    index = np.array([[1, 2], [0, 0], [1, 2]])
    np.testing.assert_array_equal(session.run(v.gather_nd(index)), start[index[:, 0], index[:, 1]])
    assert session.run(v.gather_nd([1, 2, 3])) == 23
    result = session.run(v.scatter_nd_add(index, np.ones((3, 4))))
    start[0, 0] += 1
    start[1, 2] += 2
    np.testing.assert_array_equal(result, start)
    result = session.run(v.scatter_nd_sub([[0, 1, 1]], [5.0]))
    start[0, 1, 1] -= 5
    np.testing.assert_array_equal(result, start)
    result = session.run(v.scatter_nd_update([[1]], np.zeros((1, 3, 4))))
    start[1] = 0
    np.testing.assert_array_equal(result, start)


def test_gather_with_batch_dimensions() -> None:
    start = np.arange(30, dtype=np.float32).reshape(2, 3, 5)
    indices = np.array([[2, 0, 1, 1], [0, 0, 2, 1]], np.int64)
    v = Variable(start)
    value = state.resource_gather(v.handle, indices, dtype=dtypes.float32, batch_dims=1)
    assert value.dims == (2, 4, 5)
    expected = np.stack([start[b][indices[b]] for b in range(2)])
    np.testing.assert_array_equal(started(v).run(value), expected)


def test_gradients_reach_the_variable() -> None:
    v = Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    session = started(v)
    y = multiply(v.value(), v.value())
    (dense,) = gradients(y, v)
    assert session.run(dense).tolist() == [[2, 4], [6, 8], [10, 12]]
    (second,) = gradients(dense, v)
    assert session.run(second).tolist() == [[2, 2]] * 3
    rows = v.sparse_read([[2, 0], [2, 2]])
    (sparse,) = gradients(multiply(rows, rows), v)
    values, indices, dense_shape = session.run([sparse.values, sparse.indices, sparse.dense_shape])
    assert indices.tolist() == [2, 0, 2, 2]
    assert dense_shape.tolist() == [3, 2]
    assert values.tolist() == [[10, 12], [2, 4], [10, 12], [10, 12]]
    (by_element,) = gradients(v.gather_nd([[0, 1], [2, 0], [0, 1]]), v)
    assert session.run(by_element).tolist() == [[0, 2], [0, 0], [1, 0]]
    (by_row,) = gradients(v.gather_nd([[1]]), v)
    assert session.run(by_row.indices).tolist() == [1]
    (both,) = gradients(add(v.value(), v.sparse_read([0, 0, 1])), v)
    assert session.run(both).tolist() == [[3, 3], [2, 2], [1, 1]]


def test_reads_before_a_write_see_the_old_value() -> None:
    v = Variable([1.0, 2.0])
    before = v.value()
    with control_dependencies([before]):
        write = v.assign_add([10.0, 10.0])
    view = before[:1]  # type: ignore[index]
    session = started(v)
    old, part, new = session.run([before, view, write])
    assert old.tolist() == [1, 2] and part.tolist() == [1] and new.tolist() == [11, 12]


def test_a_fetched_value_belongs_to_the_caller() -> None:
    v = Variable([1.0, 2.0])
    write, assigned = v.assign_add([1.0, 1.0]), v.assign([7.0, 7.0])
    session = started(v)
    first = session.run(v)
    session.run(write)
    second = session.run(v)
    assert first.tolist() == [1, 2] and second.tolist() == [2, 3]
    second[:] = -1
    session.run(assigned)[:] = -2
    session.run(write.op)
    assert session.run(v).tolist() == [8, 8]
    assert second.tolist() == [-1, -1]


def test_a_fed_array_is_copied_when_it_is_stored() -> None:
    v = Variable([1.0, 2.0])
    x = placeholder(dtypes.float32, (2,))
    session = started(v)
    array = np.array([3.0, 4.0], np.float32)
    session.run(v.assign(x).op, {x: array})
    array[:] = 9
    assert session.run(v).tolist() == [3, 4]
    session.run(v.assign_add([1.0, 1.0]).op)
    assert array.tolist() == [9, 9]


def test_variables_do_not_share_what_was_assigned_to_both() -> None:
    c = constant([1.0, 2.0])
    v, w = Variable(c), Variable(c)
    session = started(v, w)
    session.run(v.assign(w).op)
    session.run(v.assign_add([1.0, 1.0]).op)
    assert session.run([v, w, c])[1].tolist() == [1, 2]
    session.run(w.assign_add([5.0, 5.0]).op)
    v_value, w_value, c_value = session.run([v, w, c])
    assert v_value.tolist() == [2, 3] and w_value.tolist() == [6, 7] and c_value.tolist() == [1, 2]


def test_updates_are_in_place_when_unshared() -> None:
    import torch

    variable = VariableResource("v", dtypes.float32, (3,), torch.device("cpu"))
    variable.assign(torch.ones(3) * 2)
    address = variable.value.data_ptr()
    variable.update(torch.Tensor.add_, 1)
    assert variable.value.data_ptr() == address
    seen = variable.read()
    variable.update(torch.Tensor.add_, 1)
    assert seen.tolist() == [3, 3, 3] and variable.value.tolist() == [4, 4, 4]
    part = variable.read()[1:]
    variable.update(torch.Tensor.add_, 1)
    assert part.tolist() == [4, 4] and variable.value.tolist() == [5, 5, 5]


def test_concurrent_updates_are_all_counted() -> None:
    v = Variable(np.zeros(100, np.float32))
    write = v.assign_add(np.ones(100, np.float32))
    session = started(v)
    run = session.make_callable(write.op)
    seen: list[Any] = []

    def work(read: bool) -> None:
        for _ in range(200):
            run()
            if read:
                seen.append(session.run(v))

    threads = [threading.Thread(target=work, args=(i % 2 == 0,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.run(v).tolist() == [1200] * 100
    assert all((value == value[0]).all() for value in seen)


def test_strided_slice_assign() -> None:
    v = Variable(np.arange(24, dtype=np.float32).reshape(4, 6))
    expected = np.arange(24, dtype=np.float32).reshape(4, 6)
    session = started(v)
    for key, value in [
        ((slice(1, 3), slice(None, None, 2)), np.full((2, 3), -1)),
        ((slice(None, None, -1), 0), np.arange(4)),
        ((Ellipsis, slice(-2, None)), np.zeros((4, 2))),
        ((2, 3), np.array(50)),
        ((slice(5, 1, -2),), np.zeros((1, 6))),
    ]:
        expected[key] = value
        np.testing.assert_array_equal(session.run(v[key].assign(value.astype(np.float32))), expected)
    expected[1, 2] = 9.0
    np.testing.assert_array_equal(session.run(assign(v[1, 2], 9.0)), expected)
    with pytest.raises(ValueError, match="slice of shape"):
        v[1:3].assign(np.zeros((3, 6), np.float32))


def test_count_up_to() -> None:
    v = Variable(0)
    count = v.count_up_to(2)
    session = started(v)
    assert [session.run(count), session.run(count)] == [0, 1]
    with pytest.raises(errors.OutOfRangeError, match="limit of 2"):
        session.run(count)
    assert session.run(v) == 2
