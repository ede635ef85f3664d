"""Tensors and variables of every type and shape pass between tasks unchanged."""

import itertools

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.equivalence.comparison import LARGE, Step, check

DTYPES = [
    *(tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.complex64, tf.complex128, tf.bool),
    *(tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64),
    *(tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32),
]
SHAPES = [(), (0,), (3, 0, 2), (1,), (7,), (2, 3, 2, 2, 3), (LARGE,), (5, LARGE // 4)]


def _content(dtype, shape):
    numbers = np.arange(int(np.prod(shape))).reshape(shape) % 100
    if dtype.is_quantized:
        return tf.cast(tf.constant(numbers, tf.int32), dtype)
    if dtype.is_complex:
        return tf.constant((numbers + 1j * numbers[..., ::-1] if shape else numbers * 1j).astype(dtype.as_numpy_dtype))
    return tf.cast(tf.constant(numbers, tf.int64), dtype)


def test_tensors_of_every_type_come_back(cluster):
    def program(tasks):
        there = []
        for dtype, shape in itertools.product(DTYPES, SHAPES):
            with tf.device(tasks.worker1):
                made = tf.identity(_content(dtype, shape))
            with tf.device(tasks.ps):
                there.append(tf.identity(made))
        with tf.device(tasks.worker):
            yield [tf.identity(tensor) for tensor in there]
        yield there

    check(program, cluster)


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_of_every_type_are_read_and_assigned(cluster, use_resource):
    def program(tasks):
        variables, feeds = [], []
        for dtype in [*DTYPES[:15], tf.string]:
            value = tf.constant([["a", "b\0c"], ["", "é"]]) if dtype == tf.string else _content(dtype, (2, 2))
            with tf.device(tasks.ps):
                variables.append(tf.Variable(value, use_resource=use_resource, name="v"))
                variables.append(tf.Variable(value[:0], use_resource=use_resource, name="empty"))
            feeds.append(tf.placeholder(dtype, (2, 2)))
        with tf.device(tasks.worker1):
            again = [tf.identity(feed) for feed in feeds]
        with tf.device(tasks.ps):
            assign = [variable.assign(value) for variable, value in zip(variables[::2], again)]
        yield variables[0]  # uninitialized
        yield tf.global_variables_initializer()
        first = yield [variables, [tf.is_variable_initialized(variable) for variable in variables]]
        yield Step([assign, again], {feed: value[::-1] for feed, value in zip(feeds, first[0][::2])})
        yield variables

    check(program, cluster)


def test_strings(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            words = tf.constant([["one", ""], ["\0\xff", "x" * 100_000]])
            none = tf.constant([], tf.string)
        with tf.device(tasks.worker):
            joined = tf.string_join([words, tf.constant("!")])
            scalar = tf.reduce_join(words)
            yield [joined, scalar, tf.identity(none), tf.string_split(tf.constant(["a b c", "d"])).values]
        fed = tf.placeholder(tf.string)
        with tf.device(tasks.ps1):
            yield Step(tf.string_to_number(fed), {fed: ["1.5", b"2"]})
            yield Step(tf.string_to_number(fed), {fed: ["no number"]})

    check(program, cluster)


def test_tensors_that_are_not_contiguous(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            square = tf.reshape(tf.range(300 * 300), [300, 300])
            parts = [
                tf.transpose(square),
                square[::2, 1::3],
                square[:, 0],
                tf.broadcast_to(tf.constant([[1], [2]]), [2, 50_000]),
                tf.reverse(square, [0]),
                tf.conj(tf.complex(tf.cast(square, tf.float32), 1.0)),
                tf.imag(tf.complex(tf.ones([30_000]), 2.0)),
                tf.imag(tf.conj(tf.complex(tf.ones([3]), 2.0))),
                tf.fill([40_000], 3),
                tf.fill(tf.random_uniform([1], 1, 2, tf.int32), 3),
                tf.broadcast_to(square[:1, :1], [1, 1]),
            ]
        with tf.device(tasks.worker):
            yield [part + 1 for part in parts]
        yield parts

    check(program, cluster)


def test_received_tensors_may_be_changed_in_place(cluster):
    """A kernel that may overwrite its input has no effect on what another consumer received."""

    def program(tasks):
        with tf.device(tasks.ps):
            variable = tf.Variable(tf.ones([LARGE]))
            value = variable + 1.0
        with tf.device(tasks.worker):
            changed = tf.exp(tf.nn.relu(value * 0.5))
            local = tf.Variable(tf.zeros([LARGE]))
            kept = local.assign(value)
            with tf.control_dependencies([kept]):
                grown = local.assign_add(value)
        yield tf.global_variables_initializer()
        for _ in range(3):
            yield [changed, grown, value]
            yield variable.assign_add(tf.ones([LARGE]))
        yield [local, variable]

    check(program, cluster)


def test_one_tensor_for_several_consumers_and_tasks(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            value = tf.random_uniform([200, 200], seed=3)
        sums = []
        for device in (tasks.worker, tasks.worker1, tasks.ps1, tasks.worker):
            with tf.device(device):
                sums.append(tf.reduce_sum(value * (1.0 + len(sums))))
        with tf.device(tasks.ps1):
            yield [tf.add_n(sums), value]

    check(program, cluster)


def test_sparse_tensors_and_indexed_slices(cluster):
    def program(tasks):
        with tf.device(tasks.worker1):
            sparse = tf.sparse_placeholder(tf.float32, shape=[4, 5])
            slices = tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([3, 1]), tf.constant([5, 2]))
        with tf.device(tasks.ps):
            dense = tf.sparse_tensor_dense_matmul(sparse, tf.ones([5, 3]))
            doubled = tf.SparseTensor(sparse.indices, sparse.values * 2.0, sparse.dense_shape)
            full = tf.convert_to_tensor(slices)
        value = tf.SparseTensorValue([[0, 1], [2, 3]], [1.5, 2.5], [4, 5])
        yield Step({"dense": dense, "sparse": doubled, "same": [sparse, full]}, {sparse: value})
        yield slices

    check(program, cluster)


def test_feeds_of_tensors_at_other_tasks(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            at_ps = tf.constant([1.0, 2.0])
            used_at_ps = at_ps * 10.0
        with tf.device(tasks.worker1):
            both = at_ps + used_at_ps
            whole = tf.reduce_sum(both)
        yield whole
        yield Step(whole, {at_ps: [5.0, 6.0]})
        yield Step([whole, both, at_ps], {both: [1.0, 1.0]})
        yield Step([whole, used_at_ps], {used_at_ps: np.zeros(2, np.float32), at_ps: [1.0, 0.0]})
        yield Step((used_at_ps, [whole, {"x": at_ps}], "Sum:0"), {used_at_ps: [7.0, 7.0]})
        large = tf.placeholder(tf.float32, [None])
        with tf.device(tasks.ps1):
            total = tf.reduce_sum(large)
        yield Step([total, large], {large: np.ones(LARGE, np.float32)})
        yield Step(total, {large: np.ones(2 * LARGE, np.float32)[::2]})

    check(program, cluster)


@pytest.mark.slow
def test_tensors_over_2_gb(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            large = tf.ones([(1 << 31) + 5], tf.int8)
        with tf.device(tasks.worker):
            yield [tf.reduce_max(large), tf.shape(large, out_type=tf.int64), large[-1]]

    check(program, cluster)
