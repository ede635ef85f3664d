"""Loops, conditionals and control dependencies that are cut across tasks."""

import zlib

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.equivalence.comparison import Step, check
from tests.graph.control_flow import programs


def test_loops_over_several_tasks(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            weight = tf.Variable(tf.constant([[0.5, 0.25], [0.1, 0.9]]))
        limit = tf.placeholder(tf.int32, [])

        def body(i, x):
            with tf.device(tasks.ps):
                x = tf.matmul(x, weight)
            with tf.device(tasks.worker1):
                return i + 1, tf.tanh(x) + tf.cast(i, tf.float32)

        _, result = tf.while_loop(lambda i, x: i < limit, body, [tf.constant(0), tf.ones([3, 2])])
        gradients = tf.gradients(result, [weight])
        yield tf.global_variables_initializer()
        for count in (0, 1, 5):
            yield Step([result, gradients], {limit: count})

    check(program, cluster)


def test_nested_loops_with_gradients(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            start = tf.Variable([1.0, 2.0])

        def inner(j, x):
            with tf.device(tasks.worker1):
                return j + 1, x * 1.1

        def outer(i, x):
            with tf.device(tasks.ps1):
                x = x + tf.cast(i, tf.float32)
            _, x = tf.while_loop(lambda j, x: j < i + 1, inner, [0, x])
            with tf.device(tasks.worker):
                return i + 1, tf.sin(x)

        _, result = tf.while_loop(lambda i, x: i < 4, outer, [0, start])
        slope = tf.gradients(result, start)[0]
        yield tf.global_variables_initializer()
        yield [result, slope]

    check(program, cluster)


def test_a_condition_of_another_task_stops_a_loop(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            limit = tf.Variable(10.0)

        def cond(x, n):
            with tf.device(tasks.ps):
                return tf.reduce_sum(x) < limit

        def body(x, n):
            with tf.device(tasks.worker1):
                x = x * 2.0
            with tf.device(tasks.ps1):
                n = n + 1
            return x, n

        x, n = tf.while_loop(cond, body, [tf.ones([2]), tf.constant(0)])
        yield limit.initializer
        yield [x, n]
        yield limit.assign(1000.0)
        yield [x, n]

    check(program, cluster)


SCATTERED = [range(8), pytest.param(range(8, 24), marks=pytest.mark.slow)]  # random programs


def _scatter(tasks):
    """Returns a device function that puts each operation at some task, always the same one."""
    devices = (tasks.ps, tasks.ps1, tasks.worker, tasks.worker1)
    return lambda op: "" if op.type in ("Const", "TensorArrayV3") else devices[zlib.crc32(op.name.encode()) % 4]


def test_loops_of_all_tasks_have_the_same_name(cluster):
    def program(tasks):
        with tf.device(_scatter(tasks)):
            x = tf.constant(1.3, tf.float64)
            orders = [tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * x), [0, x])[1]]
            for _ in range(3):
                orders.append(tf.gradients(orders[-1], x)[0])
        yield orders

    check(program, cluster)


@pytest.mark.parametrize("seeds", SCATTERED, ids=str)
def test_random_programs_over_all_tasks(seeds, cluster):
    if cluster.transport == "tcp":
        pytest.skip("sockets cover the same partitions")

    def program(tasks):
        with tf.device(_scatter(tasks)):
            x = tf.placeholder(tf.float64, [3])
            p, n = tf.placeholder(tf.bool, []), tf.placeholder(tf.int32, [])
            fetches = []
            for seed in seeds:
                names = {}
                exec(programs.source(seed), names)
                y = names["build"](tf, x, p, n)
                fetches.append([y, tf.gradients(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)[0]])
        for fetch in fetches:
            for choice, count in ((True, 2), (False, 0)):
                yield Step(fetch, {x: [0.3, -0.5, 0.7], p: choice, n: count})

    check(program, cluster)


def test_branches_at_different_tasks(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            weight = tf.Variable([1.0, -2.0])
        choice = tf.placeholder(tf.bool, [])

        def yes():
            with tf.device(tasks.worker1):
                return tf.exp(weight)

        def no():
            with tf.device(tasks.ps1):
                return weight * weight

        result = tf.cond(choice, yes, no)
        slope = tf.gradients(result, weight)[0]
        with tf.device(tasks.worker):
            after = result + 1.0
        inner = tf.cond(choice, lambda: tf.cond(weight[0] > 0.0, yes, no), lambda: tf.cond(weight[1] > 0.0, yes, no))
        index = tf.placeholder(tf.int32, [])
        cases = tf.case([(tf.equal(index, 0), yes), (tf.equal(index, 1), no)], default=lambda: weight + 5.0)
        yield weight.initializer
        for value in (True, False):
            yield Step([result, slope, after, inner], {choice: value})
        for value in range(3):
            yield Step(cases, {index: value})

    check(program, cluster)


def test_a_conditional_assignment_at_a_parameter_server(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            count = tf.Variable(0, use_resource=True)
        choice = tf.placeholder(tf.bool, [])

        def raise_it():
            with tf.device(tasks.ps):
                return count.assign_add(10)

        changed = tf.cond(choice, raise_it, lambda: count.read_value())
        yield count.initializer
        yield Step(changed, {choice: True})
        yield Step(changed, {choice: False})
        yield count

    check(program, cluster)


def test_switch_and_merge_at_another_task(cluster):
    def program(tasks):
        predicate = tf.placeholder(tf.bool, [])
        with tf.device(tasks.ps):
            no, yes = tf.raw_ops.Switch(data=tf.constant([1.0, 2.0]), pred=predicate)
            doubled = no * 2.0
            merged, index = tf.raw_ops.Merge(inputs=[doubled, tf.square(yes)])
            after = merged + 1.0
        yield Step([after, index], {predicate: True})
        yield Step([after, index], {predicate: False})
        yield Step(doubled, {predicate: True})  # dead

    check(program, cluster)


def test_tensor_arrays_and_scans(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            table = tf.Variable(tf.reshape(tf.range(12.0), [6, 2]))
        with tf.device(tasks.worker1):
            array = tf.TensorArray(tf.float32, 6).unstack(table)
            written = tf.TensorArray(tf.float32, 6, clear_after_read=False)

        def body(i, written):
            with tf.device(tasks.ps1):
                value = tf.square(array.read(i))
            return i + 1, written.write(i, value)

        _, written = tf.while_loop(lambda i, _: i < 6, body, [0, written])
        stacked = written.stack()
        with tf.device(tasks.worker):
            mapped = tf.map_fn(lambda x: x * 3.0, table)
            scanned = tf.scan(lambda a, x: a + x, table)
            folded = tf.foldl(lambda a, x: a * 0.5 + x, table)
        yield table.initializer
        yield [stacked, tf.gradients(stacked, table)[0]]
        yield [mapped, scanned, folded, tf.gradients(scanned, table)[0], tf.gradients(folded, table)[0]]

    check(program, cluster)


def test_a_recurrent_network_with_its_cell_at_another_task(cluster):
    def program(tasks):
        x = tf.placeholder(tf.float32, [None, None, 3])
        lengths = tf.placeholder(tf.int32, [None])
        with tf.device(tf.train.replica_device_setter(ps_tasks=2, worker_device=tasks.worker) if tasks.ps else ""):
            cell = tf.nn.rnn_cell.LSTMCell(4, initializer=tf.constant_initializer(0.1))
            if tasks.ps:
                cell = tf.nn.rnn_cell.DeviceWrapper(cell, tasks.worker1)
            outputs, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
            loss = tf.reduce_sum(tf.square(outputs)) + tf.reduce_sum(state.c)
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        data = np.linspace(-1, 1, 2 * 5 * 3).astype(np.float32).reshape(2, 5, 3)
        yield tf.global_variables_initializer()
        for _ in range(2):
            yield Step([outputs, state, loss], {x: data, lengths: [5, 3]})
            yield Step(train, {x: data, lengths: [5, 3]})
        yield tf.trainable_variables()

    check(program, cluster)


def test_control_dependencies_between_tasks(cluster):
    def program(tasks):
        with tf.device(tasks.ps):
            a = tf.Variable(1.0, use_resource=True)
        with tf.device(tasks.ps1):
            b = tf.Variable(2.0, use_resource=True)
        with tf.device(tasks.ps):
            first = a.assign_add(1.0)
        with tf.control_dependencies([first]), tf.device(tasks.ps1):
            second = b.assign(b.read_value() * 10.0)
        with tf.control_dependencies([second]), tf.device(tasks.worker1):
            done = tf.no_op()
        with tf.control_dependencies([done]), tf.device(tasks.ps):
            third = a.assign(a.read_value() * 3.0)
        with tf.control_dependencies([third]):
            total = a.read_value() + b.read_value()
        yield tf.group(a.initializer, b.initializer)
        yield total
        yield [tf.group(third, second), total]
        yield [a, b]

    check(program, cluster)


def test_errors_in_loops_and_branches(cluster):
    def program(tasks):
        stop = tf.placeholder(tf.int32, [])

        def body(i):
            with tf.device(tasks.ps):
                check_i = tf.Assert(i < stop, [i], name="limit")
            with tf.control_dependencies([check_i]), tf.device(tasks.worker1):
                return i + 1

        result = tf.while_loop(lambda i: i < 5, body, [0])
        yield Step(result, {stop: 3})
        yield Step(result, {stop: 9})

    check(program, cluster)


def test_functions_with_bodies_at_other_tasks(cluster):
    def program(tasks):
        @tf.custom_gradient
        def clipped(x):
            def slope(dy):
                with tf.device(tasks.worker1):
                    return tf.clip_by_value(dy, -0.1, 0.1)

            return x * 5.0, slope

        with tf.device(tasks.ps):
            x = tf.Variable([1.0, 2.0], use_resource=True)
            y = clipped(x)
        yield x.initializer
        yield [y, tf.gradients(y, x)]

    check(program, cluster)
