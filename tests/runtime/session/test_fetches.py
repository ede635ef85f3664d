"""Fetched arrays: returned without a copy if the value is unshared, copied otherwise."""

import sys

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg._src.runtime.compile import clusters, lowering
from thalweg._src.runtime.kernels import types

SIZE = 1 << 24  # floats: 64 MB
FEW = 3000
ON_THE_HOST = pytest.mark.cpu_only(reason="what a GPU makes is copied to the host")


@pytest.fixture
def clones(monkeypatch):
    """The shapes of tensors that were cloned."""
    shapes, clone = [], torch.Tensor.clone

    def counted(self, *args, **kwargs):
        shapes.append(tuple(self.shape))
        return clone(self, *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, "clone", counted)
    return shapes


def _owner(array):
    """Returns the tensor whose memory an array is."""
    while not isinstance(array, torch.Tensor):
        array = array.base
    return array


# -- not copied -------------------------------------------------------------------------------------------------------


@ON_THE_HOST
def test_a_large_result_is_not_copied(clones):
    x = tf.placeholder(tf.float32, [SIZE])
    y = x * 2.0
    given = np.ones(SIZE, np.float32)
    with tf.Session() as session:
        call = session.make_callable(y, [x])
        handle = session.partial_run_setup([y], [x])
        found = [
            session.run(y, {x: given}),
            session.run({"y": [y]}, {x: given})["y"][0],
            call(given),
            session.partial_run(handle, y, {x: given}),
        ]
    assert clones == []
    assert all(array[0] == array[-1] == 2 and array.flags.writeable for array in found)


@ON_THE_HOST
@pytest.mark.parametrize(
    "build",
    [
        lambda x: [x + 1.0, x + 2.0],
        lambda x: [tf.reshape(x + 1.0, [2, -1])],
        lambda x: [tf.cast(x, tf.bfloat16), tf.cast(x, tf.int32)],
        lambda x: [tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x])[1]],
        lambda x: [tf.cond(x[0] > 0, lambda: x * 2.0, lambda: x * 3.0)],
        lambda x: [tf.random_uniform([FEW])],
    ],
)
def test_a_value_computed_in_the_step_is_not_copied(build, clones):
    x = tf.placeholder(tf.float32, [FEW])
    fetches = build(x)
    given = np.ones(FEW, np.float32)
    with tf.Session() as session:
        for _ in range(3):
            session.run(fetches, {x: given})
    assert clones == []


def test_a_dequeued_value_is_not_copied(clones):
    queue = tf.FIFOQueue(5, tf.float32)
    x = tf.placeholder(tf.float32, [FEW])
    enqueue, dequeue = queue.enqueue(x + 1.0), queue.dequeue()
    with tf.Session() as session:
        session.run(enqueue, {x: np.zeros(FEW)})
        assert session.run(dequeue)[-1] == 1
    assert clones == []


@ON_THE_HOST
def test_a_non_contiguous_value_is_copied_once(clones):
    x = tf.placeholder(tf.float32, [FEW, 2])
    with tf.Session() as session:
        found = session.run(tf.transpose(x + 1.0), {x: np.zeros((FEW, 2))})
    assert clones == [] and found.flags.c_contiguous


def test_a_slice_does_not_keep_its_base_alive(clones):
    x = tf.placeholder(tf.float32, [100, FEW])
    with tf.Session() as session:
        found = session.run((x + 1.0)[2:3], {x: np.zeros((100, FEW))})
    assert clones == [(1, FEW)]
    assert _owner(found).untyped_storage().nbytes() == 4 * FEW


# -- copied -----------------------------------------------------------------------------------------------------------


def _numbers():
    return np.arange(FEW, dtype=np.float32)


def _made():
    """Returns a value that each step makes."""
    return tf.range(float(FEW)) * tf.placeholder_with_default(np.float32(1), [])


def _variable():
    return tf.get_variable("v", initializer=tf.range(float(FEW)), use_resource=True)


def _assigned():
    x, v = _made(), tf.get_variable("v", [FEW], use_resource=True)
    with tf.control_dependencies([v.assign(x)]):
        return [tf.identity(x), v.read_value()]


def _queued():
    x, queue = _made(), tf.FIFOQueue(100, tf.float32)
    with tf.control_dependencies([queue.enqueue(x)]):
        return [tf.identity(x)]


def _iterated(dataset):
    return [tf.data.make_one_shot_iterator(dataset).get_next()]


def _several():
    x = _made()
    return [x, tf.identity(x), tf.reshape(x, [2, -1]), x[:-1]]


_PYTHON = _numbers()
Dataset = tf.data.Dataset
HELD = {
    "variable": lambda: [_variable()],
    "older variable": lambda: [tf.Variable(tf.range(float(FEW)), use_resource=False)],
    "value of a variable": lambda: [_variable().read_value()],
    "identity of a variable": lambda: [tf.identity(_variable())],
    "view of a variable": lambda: [tf.reshape(_variable(), [2, -1])],
    "part of a variable": lambda: [_variable()[1:]],
    "several fetches": _several,
    "constant": lambda: [tf.constant(_numbers())],
    "folded constant": lambda: [tf.constant(_numbers()) + 1.0],
    "default of a placeholder": lambda: [tf.placeholder_with_default(_numbers(), [FEW])],
    "strings": lambda: [tf.constant([b"x"] * FEW), tf.Variable([b"y"] * FEW)],
    "assigned": _assigned,
    "in a queue": _queued,
    "tensors of a dataset": lambda: _iterated(Dataset.from_tensors(_numbers()).repeat()),
    "slices of a dataset": lambda: _iterated(Dataset.from_tensor_slices(_numbers()[None]).repeat()),
    "strings of a dataset": lambda: _iterated(Dataset.from_tensors([b"x"] * FEW).repeat()),
    "cache of a dataset": lambda: _iterated(
        Dataset.from_tensors(0.0).map(lambda x: tf.range(float(FEW)) + x).cache().repeat()
    ),
    "what Python keeps": lambda: [tf.py_func(lambda: _PYTHON, [], tf.float32)],
    "loop that does nothing": lambda: [tf.while_loop(lambda x: False, lambda x: x + 1, [_variable()])],
    "branch": lambda: [tf.cond(tf.placeholder_with_default(True, []), _variable().read_value, _made)],
}


@pytest.mark.parametrize("kind", HELD)
def test_values_referenced_elsewhere_are_copied(kind):
    """Changing a fetched array changes nothing else."""
    fetches = HELD[kind]()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            found = session.run(fetches)
            expected = [array.copy() for array in found]
            for array, value in zip(found, expected):  # one after another: they must not share memory either
                np.testing.assert_array_equal(array, value)
                array[...] = b"changed" if array.dtype == object else -1
            for array, value in zip(session.run(fetches), expected):
                np.testing.assert_array_equal(array, value)


def test_queued_values_do_not_change():
    x, queue = _made(), tf.FIFOQueue(100, tf.float32)
    enqueue, dequeue = queue.enqueue(x), queue.dequeue()
    with tf.Session() as session:
        found = session.run([x, enqueue])[0]
        found[...] = -1
        np.testing.assert_array_equal(session.run(dequeue), _numbers())


def test_assigned_values_do_not_change():
    x, v = _made(), _variable()
    assign, add = v.assign(x), v.assign_add(tf.ones([FEW]))
    with tf.Session() as session:
        session.run(v.initializer)
        found = session.run([x, assign])[0]
        found[...] = -1
        np.testing.assert_array_equal(session.run(v), _numbers())
        before = session.run(v)
        session.run(add)
        np.testing.assert_array_equal(before, _numbers())
        np.testing.assert_array_equal(session.run(v), _numbers() + 1)


@pytest.mark.parametrize("wrap", [lambda x: x, tf.identity, lambda x: tf.reshape(x, [2, -1]), lambda x: x[1:]])
def test_fed_values_are_copied(wrap):
    x = tf.placeholder(tf.float32, [FEW])
    y = wrap(x)
    given = _numbers()
    with tf.Session() as session:
        handle = session.partial_run_setup([y], [x])
        for found in (
            session.run(y, {x: given}),
            session.make_callable(y, [x])(given),
            session.partial_run(handle, y, {x: given}),
        ):
            assert not np.shares_memory(found, given)


def test_partial_runs_copy_values_that_are_still_needed():
    x, y = tf.placeholder(tf.float32, [FEW]), tf.placeholder(tf.float32, [])
    first = x + 1.0
    second = first * y
    with tf.Session() as session:
        handle = session.partial_run_setup([first, second], [x, y])
        found = session.partial_run(handle, first, {x: _numbers()})
        found[...] = -1
        np.testing.assert_array_equal(session.partial_run(handle, second, {y: 2}), 2 * (_numbers() + 1))


@pytest.fixture(params=["lowered", pytest.param("compiled", marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
def compiler(request, monkeypatch, as_library):
    """The compiler, and what runs the graphs that it is given: the first alone takes half a minute."""

    def library(cluster_request):
        with torch.inference_mode(False), torch.no_grad():
            graph, _ = lowering.traced(cluster_request)
        return as_library(graph)

    if request.param == "lowered":
        monkeypatch.setattr(clusters.FOREGROUND, "wait_for", library)


def test_compiled_steps_copy_values_that_they_keep(compiler):
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    v, x = _variable(), tf.placeholder(tf.float32, [FEW])
    made = tf.tanh(tf.abs(x) + 1.0) * v
    same = tf.abs(tf.identity(x)) * 1.0
    fetches = [made, tf.identity(made), tf.reshape(made, [2, -1]), v.read_value(), tf.identity(v), same]
    add = v.assign_add(tf.ones([FEW]))
    given = _numbers()
    kept = []
    with tf.Session() as plain, tf.Session(config=config) as session:
        for each in (plain, session):
            each.run(v.initializer)
        for _ in range(3):
            expected = plain.run(fetches, {x: given})
            found = session.run(fetches, {x: given})
            for array in session.run(fetches, {x: given}):
                array[...] = -1
            kept.append((found, expected))
            plain.run(add)
            session.run(add)
    np.testing.assert_array_equal(given, _numbers())
    for found, expected in kept:
        for array, value in zip(found, expected):  # one after another: they must not share memory either
            np.testing.assert_allclose(array, value, rtol=1e-5)
            array[...] = -1


# -- counting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("uncounted", [-1, 0, 1, 2])
def test_reference_counts_depend_on_the_interpreter(monkeypatch, uncounted):
    """Newer interpreters do not count temporary references of a function."""
    count = sys.getrefcount

    class Other:
        getrefcount = staticmethod(lambda value: count(value) - uncounted)

    monkeypatch.setattr(types, "sys", Other)
    free, held = torch.ones(FEW), torch.ones(FEW)
    again = [held]
    values = (free, held)
    address = free.data_ptr()
    del free
    found = types.fetched(values)
    assert found[0].ctypes.data == address
    assert not np.shares_memory(found[1], held.numpy()) and again[0] is held


def _viewed(tensor):
    return tensor[:]


@pytest.mark.parametrize("hold", [_viewed, torch.utils.dlpack.to_dlpack, lambda tensor: tensor.numpy()])
def test_references_to_memory_are_detected(hold):
    values = [torch.ones(FEW)]
    holder = hold(values[0])
    address = values[0].data_ptr()
    found = types.fetched(values)[0]
    assert found.ctypes.data != address
    assert holder is not None
