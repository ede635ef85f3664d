"""Values of tensors and variables in keras.backend: reading, writing, creating, and what is known without a value."""

from types import SimpleNamespace

import numpy as np
import pytest

import thalweg as tf
from tests.keras.backend_names import K
from thalweg._src.keras.backend import state
from thalweg._src.keras.backend.variables import identity, is_placeholder


@pytest.fixture(params=["graph", "eager"])
def both(request):
    """Runs a test in a graph with the session of Keras, and in eager execution."""
    if request.param == "eager":
        request.getfixturevalue("fresh")
        yield
    else:
        with tf.Session():
            yield


def test_values_are_written_and_read(both):
    first, second = K.variable([1, 2]), K.variable(np.ones([2, 3]), dtype="float64")
    K.batch_set_value([(first, [3, 4]), (second, np.zeros([2, 3]))])
    values = K.batch_get_value([first, second, first * 2.0])
    np.testing.assert_array_equal(values[0], np.array([3, 4], np.float32))
    assert values[1].dtype == np.float64
    np.testing.assert_array_equal(values[1], np.zeros([2, 3]))
    np.testing.assert_array_equal(values[2], [6, 8])
    K.set_value(first, np.array([5, 6], np.int64))
    np.testing.assert_array_equal(K.get_value(first), [5, 6])
    assert K.get_value(7) == 7
    assert K.batch_get_value([]) == []
    K.batch_set_value([])


def test_the_graph_does_not_grow_when_a_variable_is_written_again():
    variable = K.variable([1.0])
    with tf.Session() as session:
        K.set_value(variable, [2.0])
        count = len(session.graph.get_operations())
        for number in range(3):
            K.set_value(variable, [number])
            assert K.get_value(variable) == number
        assert len(session.graph.get_operations()) == count


def test_a_variable_is_initialized_by_the_session_of_keras_unless_it_was_set():
    variable = K.variable([4.0])
    session = K.get_session()
    assert session.run(variable) == [4.0]
    K.set_value(variable, [5.0])
    K.variable([1.0])
    assert K.get_session() is session
    assert session.run(variable) == [5.0]
    session.close()
    K.set_session(None)


def test_a_value_of_another_shape_is_refused(both):
    variable = K.variable([1.0, 2.0])
    with pytest.raises(ValueError, match=r"shape|compatible"):
        K.set_value(variable, [1.0, 2.0, 3.0])


@pytest.mark.usefixtures("fresh")
def test_values_are_not_read_while_a_function_is_traced():
    variable = K.variable([1.0])

    @tf.function
    def function():
        return K.get_value(variable)

    with pytest.raises(RuntimeError, match="while a function is traced"):
        function()


@pytest.mark.usefixtures("fresh")
def test_symbolic_tensors_of_eager_execution_have_values():
    variable = K.variable([1.0, 2.0])
    with K.get_graph().as_default():
        tensor = variable * 3.0
        np.testing.assert_array_equal(K.get_value(variable), [1, 2])
    np.testing.assert_array_equal(K.eval(tensor), [3, 6])
    K.set_value(variable, [2, 2])
    np.testing.assert_array_equal(K.get_value(tensor), [6, 6])


def test_sparse_tensors_are_made_dense(both):
    sparse = tf.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2])
    assert K.is_sparse(sparse)
    assert not K.is_sparse(K.to_dense(sparse))
    np.testing.assert_array_equal(K.eval(sparse), [[0, 2], [3, 0]])
    np.testing.assert_array_equal(K.eval(K.dot(sparse, np.eye(2, dtype=np.float32))), [[0, 2], [3, 0]])
    joined = K.concatenate([sparse, sparse], axis=1)
    assert K.is_sparse(joined)
    np.testing.assert_array_equal(K.eval(joined), [[0, 2, 0, 2], [3, 0, 3, 0]])
    np.testing.assert_array_equal(K.eval(K.transpose(sparse)), [[0, 3], [2, 0]])
    dense = K.concatenate([sparse, K.constant([[1.0], [1.0]])])
    np.testing.assert_array_equal(K.eval(dense), [[0, 2, 1], [3, 0, 1]])


def test_facts_are_known_without_a_value():
    variable, placeholder = K.variable(np.ones([2, 3])), K.placeholder((None, 4), dtype="int32")
    assert K.dtype(variable) == "float32"
    assert K.dtype(placeholder) == "int32"
    assert K.int_shape(variable) == (2, 3)
    assert K.int_shape(placeholder) == (None, 4)
    assert K.int_shape(tf.placeholder(tf.float32)) is None
    assert K.ndim(placeholder) == 2
    assert K.ndim(tf.placeholder(tf.float32)) is None
    assert K.count_params(variable) == 6
    assert is_placeholder(placeholder)
    assert not is_placeholder(identity(placeholder))


def test_a_keras_tensor_has_a_history():
    tensor = tf.ones([2])
    assert not K.is_keras_tensor(tensor)
    tensor._keras_history = None
    assert K.is_keras_tensor(tensor)
    with pytest.raises(ValueError, match="expected a symbolic tensor"):
        K.is_keras_tensor(np.ones([2]))


def test_a_tensor_is_printed_when_it_is_computed(both, capfd):
    printed = K.print_tensor(tf.constant([1.0, 2.0]), "values are")
    np.testing.assert_array_equal(K.get_value(printed), [1, 2])
    assert capfd.readouterr().out == "values are [1 2]\n"


# -- creation ---------------------------------------------------------------------------------------------------------


def test_variables_are_filled(both):
    cases = [
        (K.zeros([2, 3]), np.zeros([2, 3], np.float32)),
        (K.ones([2], dtype="int32"), np.ones([2], np.int32)),
        (K.eye(2), np.eye(2, dtype=np.float32)),
        (K.variable(3, name="three"), np.float32(3)),
    ]
    for variable, answer in cases:
        assert isinstance(variable, tf.Variable)
        value = K.get_value(variable)
        assert value.dtype == answer.dtype
        np.testing.assert_array_equal(value, answer)
    assert cases[-1][0].name == "three:0"


def test_zeros_of_unknown_shape_are_a_tensor():
    size = tf.placeholder(tf.int32, [1])
    tensor = K.zeros(size)
    assert isinstance(tensor, tf.Tensor)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tensor, {size: [2]}), [0, 0])


def test_types_are_floatx_by_default():
    K.set_floatx("float64")
    try:
        for made in (K.variable(1), K.constant(1), K.placeholder((1,)), K.zeros([1]), K.random_normal([1])):
            assert K.dtype(made) == "float64"
    finally:
        K.set_floatx("float32")


def test_placeholders_have_shapes():
    assert K.placeholder(ndim=3).shape.as_list() == [None, None, None]
    assert K.placeholder((2, None), name="given").name == "given:0"
    sparse = K.placeholder((2, 2), sparse=True)
    assert K.is_sparse(sparse)
    with tf.Session() as session:
        value = session.run(K.to_dense(sparse), {sparse: tf.SparseTensorValue([[0, 1]], [5.0], [2, 2])})
    np.testing.assert_array_equal(value, [[0, 5], [0, 0]])
    ragged = K.placeholder((None, None, 3), ragged=True)
    assert ragged.shape.as_list() == [None, None, 3]
    with pytest.raises(ValueError, match="at most one of sparse and ragged"):
        K.placeholder((None, None), sparse=True, ragged=True)


def test_random_variables_and_tensors_are_in_their_ranges(both):
    np.random.seed(0)
    uniform = K.get_value(K.random_uniform_variable([2000], 2.0, 3.0))
    assert 2 <= uniform.min() < 2.05 and 2.95 < uniform.max() < 3
    normal = K.get_value(K.random_normal_variable([2000], 5.0, 0.5))
    assert abs(normal.mean() - 5) < 0.1 and abs(normal.std() - 0.5) < 0.05
    values = K.get_value(K.random_uniform([2000], -1.0, 1.0))
    assert -1 <= values.min() < -0.9 and 0.9 < values.max() < 1
    assert abs(K.get_value(K.random_normal([2000], 1.0, 2.0)).mean() - 1) < 0.3
    truncated = K.get_value(K.truncated_normal([2000], 1.0, 2.0))
    assert truncated.min() >= -3 and truncated.max() <= 5
    bits = K.get_value(K.random_binomial([2000], p=0.25))
    assert set(bits) == {0, 1} and abs(bits.mean() - 0.25) < 0.05
    dropped = K.get_value(K.dropout(tf.ones([2000]), 0.25))
    assert set(dropped) == {0, np.float32(4 / 3)} and abs((dropped == 0).mean() - 0.25) < 0.05


@pytest.mark.parametrize("function", [K.random_normal, K.random_uniform, K.truncated_normal])
def test_the_seed_of_numpy_makes_random_numbers_repeatable(function):
    values = []
    for _ in range(2):
        np.random.seed(3)
        with tf.Graph().as_default(), tf.Session() as session:
            values.append(session.run([function([4]), function([4])]))
    np.testing.assert_array_equal(values[0], values[1])
    assert (values[0][0] != values[0][1]).any()


# -- updates ----------------------------------------------------------------------------------------------------------


def test_variables_are_updated(both):
    variable = K.variable([1.0, 2.0])
    for update, answer in (
        (lambda: K.update(variable, [3.0, 4.0]), [3, 4]),
        (lambda: K.update_add(variable, [1.0, 1.0]), [4, 5]),
        (lambda: K.update_sub(variable, [0.5, 0.5]), [3.5, 4.5]),
    ):
        np.testing.assert_array_equal(K.get_value(update()), answer)
        np.testing.assert_array_equal(K.get_value(variable), answer)


def test_a_moving_average_starts_without_bias_in_a_graph():
    average = K.variable([0.0])
    update = K.moving_average_update(average, K.constant([8.0]), 0.75)
    with tf.Session() as session:
        state.get_session()
        assert session.run(update) == [8.0]
        assert session.run(update) == [8.0]


@pytest.mark.usefixtures("fresh")
def test_a_moving_average_moves_in_eager_execution():
    average = K.variable([0.0])
    K.moving_average_update(average, K.constant([8.0]), 0.75)
    assert K.get_value(average) == [2.0]


def test_a_sparse_matrix_of_scipy_becomes_a_sparse_tensor(both):
    matrix = SimpleNamespace(
        row=np.array([0, 1], np.int32), col=np.array([1, 0], np.int32), data=np.array([2.0, 3.0]), shape=(2, 2)
    )
    matrix.tocoo = lambda: matrix
    tensor = K.variable(matrix)
    assert K.is_sparse(tensor)
    np.testing.assert_array_equal(K.eval(tensor), [[0, 2], [3, 0]])
