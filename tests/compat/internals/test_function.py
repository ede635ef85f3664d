"""tensorflow.python.framework.function: functions with gradients of their own."""

import pytest
from thalweg.python.framework import function

import thalweg as tf


def test_a_call_is_a_node_of_its_name():
    @function.Defun(tf.float32, tf.float32, func_name="AddSub")
    def both(x, y):
        return x + y, x - y

    first, second = both(3, 1.0)
    named = both(1, 2, name="mine")
    assert (first.name, second.name, named[0].op.name) == ("AddSub:0", "AddSub:1", "mine")
    with tf.Session() as session:
        assert session.run([first, second]) == [4.0, 2.0]
    with pytest.raises(ValueError, match="takes 2 arguments"):
        both(1.0)
    assert both.name == "AddSub" and both.declared_input_types == (tf.float32, tf.float32)


def test_without_a_gradient_of_its_own_the_body_is_differentiated():
    w = tf.Variable(5.0)

    @function.Defun(tf.float32)
    def scaled(x):
        return x * x * w

    x = tf.constant(3.0)
    with tf.Session() as session:
        session.run(w.initializer)
        assert session.run(tf.gradients(scaled(x), [x, w])) == [30.0, 9.0]


def test_the_gradient_by_another_function():
    @function.Defun(tf.float32, tf.float32)
    def gradient(x, dy):
        return 100.0 * x * dy

    @function.Defun(tf.float32, grad_func=gradient, shape_func=lambda op: [op.inputs[0].shape], noinline=True)
    def forward(x):
        return tf.reshape(x, tf.shape(x)) * 2.0

    x = tf.placeholder(tf.float32, [2])
    y = forward(x)
    assert y.shape.as_list() == [2] and forward.grad_func_name == "gradient"
    with tf.Session() as session:
        value, grad = session.run([y, tf.gradients(y, x)[0]], {x: [1.0, 2.0]})
    assert value.tolist() == [2.0, 4.0] and grad.tolist() == [100.0, 200.0]


def test_the_gradient_by_a_function_of_the_operation():
    @function.Defun(python_grad_func=lambda op, dy: [dy * op.outputs[0], None])
    def product(x, y):
        return x * y

    x, y = tf.constant(3.0), tf.constant(4.0)
    with tf.Session() as session:
        first, second = tf.gradients(product(x, y), [x, y])
        assert session.run(first) == 12.0 and second is None


def test_the_gradient_of_an_embedding_becomes_dense():
    dense = function.Defun(python_grad_func=lambda op, dy: tf.convert_to_tensor(dy))(lambda x: x)
    table = tf.get_variable("table", [3, 2], initializer=tf.zeros_initializer())
    loss = tf.reduce_sum(tf.gather(dense(table), [1]))
    (grad,) = tf.gradients(loss, [table])
    assert isinstance(grad, tf.Tensor)
    with tf.Session() as session:
        session.run(table.initializer)
        assert session.run(grad).tolist() == [[0, 0], [1, 1], [0, 0]]


def test_a_call_in_a_loop():
    square = function.Defun(tf.float32, python_grad_func=lambda op, dy: dy)(lambda x: x * x)
    x = tf.constant(2.0)
    y = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, square(v)), [0, x])[1]
    with tf.Session() as session:
        assert session.run([y, tf.gradients(y, x)[0]]) == [16.0, 1.0]


def test_effects_are_not_lost():
    counter = tf.Variable(0)

    @function.Defun(tf.float32)
    def counted(x):
        tf.assign_add(counter, 1)
        return x + 1.0

    @function.Defun()
    def only_counts():
        tf.assign_add(counter, 1)

    with tf.Session() as session:
        session.run(counter.initializer)
        session.run(counted(1.0))
        session.run(only_counts())
        assert session.run(counter) == 2


def test_wrong_gradients_are_refused():
    with pytest.raises(ValueError, match="both"):
        function.Defun(grad_func=lambda x: x, python_grad_func=lambda x: x)
    two = function.Defun(tf.float32, python_grad_func=lambda op, dy: [dy, dy])(lambda x: x)
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="2 values for 1 inputs"):
        tf.gradients(two(x), x)
    assert function.get_extra_vars() == []
