"""Variables in other memory than that of the step that uses them; needs a GPU, a real or a pretended one."""

import numpy as np
import pytest

import thalweg as tf


@pytest.fixture(autouse=True)
def needs_a_gpu():
    with tf.Session() as session:
        if not any(device.device_type == "GPU" for device in session.list_devices()):
            pytest.skip("there is no GPU")


def test_a_step_of_the_gpu_changes_variables_that_an_earlier_one_has_created_on_the_host():
    """Methods of variables are colocated with them; operations of an imported graph may request a device."""
    table = tf.get_variable("table", [4, 2], initializer=tf.zeros_initializer(), use_resource=True)
    count = tf.get_variable("count", [], tf.int32, tf.zeros_initializer(), use_resource=True)
    first = tf.placeholder(tf.float32, [4, 2])
    with tf.device("/cpu:0"):
        start = [
            tf.raw_ops.AssignVariableOp(resource=variable.handle, value=value)
            for variable, value in ((table, first), (count, 0))
        ]
    add = tf.group(tf.assign_add(table, tf.ones([4, 2])), tf.assign_add(count, 1))
    scatter = tf.scatter_add(table, [1], [[10.0, 10.0]])
    rows = tf.nn.embedding_lookup(table, [1, 2])
    train = tf.train.GradientDescentOptimizer(0.25).minimize(tf.reduce_sum(tf.square(table)))
    with tf.Session() as session:
        session.run(start, {first: np.ones([4, 2])})
        for _ in range(6):
            session.run(add)
        session.run(scatter)
        assert session.run(count) == 6
        np.testing.assert_array_equal(session.run(rows), [[17.0, 17.0], [7.0, 7.0]])
        for _ in range(6):
            session.run(train)
        np.testing.assert_allclose(session.run(rows), np.array([[17.0, 17.0], [7.0, 7.0]]) / 64, rtol=1e-6)


def test_a_function_changes_variables_where_they_are_whatever_it_requests():
    """Models of TensorFlow 2 restore their variables in a function that requests the CPU."""
    variable = tf.get_variable("v", [3], initializer=tf.zeros_initializer(), use_resource=True)

    @tf.function
    def restore():
        with tf.device("/cpu:0"):
            variable.assign(tf.ones([3]))
            return variable.read_value()

    restored = restore()
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(restored), np.ones(3))
        handle = next(line for line in session.show_placement(restored).splitlines() if "VarHandleOp" in line)
    assert handle.split()[2] == "GPU:0"
