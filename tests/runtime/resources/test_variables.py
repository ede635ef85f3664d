"""Variable resources: changed in place if unshared, copied on write otherwise."""

import threading

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg._src.base import dtypes, errors
from thalweg._src.runtime.kernels.state import add
from thalweg._src.runtime.resources.variables import VariableResource, locked

HOST = torch.device("cpu")


def variable(value=None, shape=None, dtype=dtypes.float32):
    resource = VariableResource("v", dtype, shape, HOST)
    if value is not None:
        resource.assign(value)
    return resource


def address(resource):
    return resource.value.data_ptr()


def grow(resource):
    resource.update(add, torch.ones_like(resource.value))


def test_an_unshared_buffer_is_changed_in_place():
    v = variable(torch.zeros(3))
    before = address(v)
    for _ in range(3):
        grow(v)
    assert address(v) == before
    assert v.read().tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize(
    "look",
    [
        lambda v: v.read(),
        lambda v: v.read()[1:],
        lambda v: v.read().view(3, 1),
        lambda v: v.read().numpy(),
        lambda v: v.read().detach(),
    ],
    ids=["itself", "slice", "view", "numpy", "detached"],
)
def test_a_value_that_was_read_never_changes(look):
    v = variable(torch.zeros(3))
    before = address(v)
    seen = look(v)
    grow(v)
    assert address(v) != before
    assert all(item == 0 for item in seen)
    assert v.read().tolist() == [1.0, 1.0, 1.0]
    del seen
    before = address(v)
    grow(v)
    assert address(v) == before


def test_an_assigned_value_is_not_changed_by_updates():
    value = torch.zeros(3)
    v = variable(value)
    grow(v)
    assert value.tolist() == [0.0, 0.0, 0.0] and v.read().tolist() == [1.0, 1.0, 1.0]


def test_memory_of_numpy_is_copied_when_assigned():
    array = np.zeros(3, np.float32)
    v = variable(torch.from_numpy(array))
    array[:] = 7
    assert v.read().tolist() == [0.0, 0.0, 0.0]
    grow(v)
    assert array.tolist() == [7, 7, 7]


def test_an_expanded_value_is_copied():
    v = variable(torch.zeros(1).expand(3))
    v.update(lambda buffer: buffer[0].add_(5))
    assert v.read().tolist() == [5.0, 0.0, 0.0]


def test_two_variables_with_one_value_separate_when_one_is_written():
    a = variable(torch.zeros(2))
    b = variable(a.read())
    grow(a)
    assert a.read().tolist() == [1.0, 1.0] and b.read().tolist() == [0.0, 0.0]


def test_strings():
    v = variable(np.array([b"a", b"b"], object), dtype=dtypes.string)
    seen = v.read()

    def change(buffer):
        buffer[0] = b"z"

    v.update(change)
    assert seen.tolist() == [b"a", b"b"] and v.read().tolist() == [b"z", b"b"]


def test_lifecycle():
    v = variable()
    assert not v.is_initialized and "uninitialized" in repr(v)
    for use in (v.read, lambda: v.update(add, torch.zeros(1))):
        with pytest.raises(errors.FailedPreconditionError, match="uninitialized value v"):
            use()
    v.assign(torch.zeros(2))
    assert v.is_initialized and v.read().tolist() == [0.0, 0.0]
    v.destroy()
    assert not v.is_initialized


def test_the_shape_is_kept():
    v = variable(torch.zeros(2), shape=(2,))
    with pytest.raises(errors.ShapeError, match=r"lhs shape= \[2\] rhs shape= \[3\]"):
        v.assign(torch.zeros(3))
    free = variable(torch.zeros(2), shape=(None,))
    free.assign(torch.zeros(5))
    assert free.read().shape == (5,)


def test_a_failed_change_releases_the_lock():
    v = variable(torch.zeros(2))

    def fail(buffer):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        v.update(fail)
    grow(v)
    assert v.read().tolist() == [1.0, 1.0]


def test_no_update_of_many_threads_is_lost():
    v = variable(torch.zeros(4))
    seen = []

    def work():
        for _ in range(200):
            v.update(add, torch.ones(4))
            value = v.read()
            seen.append(bool((value == value[0]).all()))  # never half an update

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert v.read().tolist() == [1200.0] * 4
    assert all(seen)


def test_locks_are_taken_in_one_order():
    a, b = variable(torch.zeros(1)), variable(torch.zeros(1))
    count = []

    def work(order):
        for _ in range(300):
            with locked(order):
                count.append(1)

    threads = [threading.Thread(target=work, args=(order,)) for order in ([a, b], [b, a], [a, a, b])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert not any(thread.is_alive() for thread in threads)
    assert len(count) == 900 and not a.lock.locked() and not b.lock.locked()


def test_locks_are_released_after_an_error():
    a = variable(torch.zeros(1))
    with pytest.raises(KeyError), locked([a]):
        raise KeyError
    assert not a.lock.locked()


# -- in steps ----------------------------------------------------------------------------------------------------------


def resource_of(session, v):
    return session._backend._resources._default["variable", v.op.name]


def test_a_step_updates_in_place_and_fetched_values_stay():
    v = tf.Variable(np.zeros((8, 8), np.float32), name="v")
    update = tf.assign_add(v, tf.ones([8, 8])).op
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(update)
        before = address(resource_of(sess, v))
        for _ in range(3):
            sess.run(update)
        assert address(resource_of(sess, v)) == before
        fetched = sess.run(v)
        sess.run(update)
        assert fetched[0, 0] == 4.0 and sess.run(v)[0, 0] == 5.0
        fetched[0, 0] = 99.0  # a fetched value is the user's own
        assert sess.run(v)[0, 0] == 5.0


def test_a_view_taken_in_the_step_before_an_update_keeps_the_old_values():
    v = tf.Variable(np.zeros((4, 4), np.float32), name="v")
    view = tf.reshape(v, [2, 8])[:1]
    with tf.control_dependencies([view]):
        update = tf.assign_add(v, tf.ones([4, 4]))
    with tf.control_dependencies([update]):
        late = tf.identity(view)
    with tf.Session() as sess:
        sess.run(v.initializer)
        for i in range(3):
            old, later, new = sess.run([view, late, update])
            assert (old == i).all() and (later == i).all() and (new == i + 1).all()


def test_the_initial_value_is_not_changed_by_updates():
    """The buffer starts as the constant of the graph, which every session and every initialization shares."""
    v = tf.Variable(np.zeros(4, np.float32))
    for _ in range(2):
        with tf.Session() as sess:
            for _ in range(2):
                sess.run(v.initializer)
                assert sess.run(v).tolist() == [0.0] * 4
                sess.run(tf.assign_add(v, tf.ones([4])).op)
                assert sess.run(v).tolist() == [1.0] * 4


@pytest.mark.parametrize(
    "optimizer",
    [
        tf.train.GradientDescentOptimizer(0.1),
        tf.train.MomentumOptimizer(0.1, 0.9),
        tf.train.AdamOptimizer(0.1),
        tf.train.RMSPropOptimizer(0.1),
    ],
    ids=lambda o: type(o).__name__,
)
def test_training_steps_keep_the_buffers(optimizer):
    variables = [tf.Variable(np.ones((5, 5), np.float32)) for _ in range(2)]
    loss = sum(tf.reduce_sum(tf.square(v)) for v in variables)
    train = optimizer.minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        buffers = [
            r for r in sess._backend._resources._default.values() if r.shape == (5, 5)
        ]  # the variables and their slots
        before = [address(r) for r in buffers]
        losses = [sess.run([train, loss])[1] for _ in range(3)]
        assert [address(r) for r in buffers] == before and len(before) >= 2
        assert losses[0] > losses[-1]


def _numbers(count=6):
    return variable(torch.arange(3.0 * count).reshape(count, 3).clone())


@pytest.mark.parametrize(
    "changes",
    [
        [lambda v: v.assign(torch.zeros(6, 3))],
        [lambda v: v.update(add, torch.ones(6, 3))],
        [lambda v: v.update_rows(set_rows, torch.tensor([4, 1]), -1.0)],
        [
            lambda v: v.update_rows(set_rows, torch.tensor([4, 4]), -1.0),
            lambda v: v.update_rows(set_rows, torch.tensor([4]), 5.0),
        ],
        [
            lambda v: v.update_rows(set_rows, torch.tensor([0]), -1.0),
            grow,
            lambda v: v.update_rows(set_rows, torch.tensor([0, 2]), 3.0),
        ],
        [grow, lambda v: v.update_rows(set_rows, torch.tensor([3]), 3.0), lambda v: v.assign(torch.ones(6, 3))],
        [lambda v: v.update_rows(set_rows, torch.zeros([0], dtype=torch.int32), 3.0)],
    ],
)
@torch.inference_mode()  # as steps compute
def test_changes_are_undone(changes):
    v = _numbers()
    expected = v.read().tolist()
    v.remember()
    for change in changes:
        change(v)
    read = v.read()
    changed = read.tolist()
    v.undo()
    assert v.read().tolist() == expected and read.tolist() == changed
    v.remember()
    for change in changes:
        change(v)
    v.forget()
    v.undo()
    assert v.read().tolist() == changed


def set_rows(buffer, indices, value):
    buffer[indices.long()] = value


def test_an_update_of_rows_that_can_be_undone_changes_the_buffer_in_place():
    v = _numbers()
    before = address(v)
    v.remember()
    v.update_rows(set_rows, torch.tensor([1]), 0.0)
    assert address(v) == before
    v.undo()
    assert address(v) == before
    assert v.read().tolist() == _numbers().read().tolist()


def test_a_value_that_was_read_stays_when_rows_of_the_variable_are_undone():
    v = _numbers()
    v.remember()
    v.update_rows(set_rows, torch.tensor([1]), 0.0)
    read = v.read()
    v.undo()
    assert read[1].tolist() == [0.0] * 3 and v.read()[1].tolist() == [3.0, 4.0, 5.0]


def test_an_initialization_is_undone():
    v = variable(shape=(2,))
    v.remember()
    v.assign(torch.zeros(2))
    v.undo()
    assert not v.is_initialized


def test_any_thread_can_undo_what_a_step_has_changed():
    with torch.inference_mode():  # as steps compute
        v = _numbers()
        v.remember()
        v.update_rows(set_rows, torch.tensor([1]), 0.0)
    v.undo()
    with torch.inference_mode():
        grow(v)
    assert v.read()[1].tolist() == [4.0, 5.0, 6.0]


def test_a_change_of_texts_is_undone():
    v = variable(np.array([b"a", b"b"], object), dtype=dtypes.string)
    v.remember()
    v.update_rows(set_rows_of_texts, torch.tensor([1]), b"c")
    v.undo()
    assert v.read().tolist() == [b"a", b"b"]


def set_rows_of_texts(buffer, indices, value):
    buffer[indices.numpy()] = value
