"""Functions of keras.backend: steps from arrays to arrays, in sessions and in eager execution."""

import numpy as np
import pytest

import thalweg as tf
from tests.keras.backend_names import K


@pytest.fixture(params=["graph", "eager"])
def both(request):
    """Builds symbolic tensors in a graph with a session, and in the graph of symbolic tensors of eager execution."""
    if request.param == "eager":
        request.getfixturevalue("fresh")
        with K.get_graph().as_default():
            yield
    else:
        with tf.Session():
            yield


def test_a_function_maps_arrays_to_arrays(both):
    x, y = K.placeholder((None, 2)), K.placeholder((2,), dtype="int32")
    function = K.function([x, y], [x * 2.0, K.cast(y, "float32") + 1.0])
    first, second = function([np.ones([3, 2]), [1, 2]])
    np.testing.assert_array_equal(first, np.full([3, 2], 2.0))
    np.testing.assert_array_equal(second, [2, 3])
    assert isinstance(first, np.ndarray)
    assert first.dtype == np.float32
    np.testing.assert_array_equal(function([np.zeros([1, 2]), [1, 2]])[0], [[0, 0]])


def test_outputs_keep_their_structure(both):
    x = K.placeholder(())
    assert K.function([x], x + 1.0)([2.0]) == 3
    assert K.function(x, [x])(2.0) == [2]
    assert K.function([x], {"a": x, "b": [x * x, None]})([3.0]) == {"a": 3, "b": [9, None]}
    assert K.function([x], [])([3.0]) == []


def test_any_tensor_is_an_input(both):
    x = K.placeholder((2,))
    middle = x * 2.0
    np.testing.assert_array_equal(K.function([middle], [middle + 1.0])([[5.0, 6.0]])[0], [6, 7])


def test_an_input_without_a_value_has_its_default(both):
    x = tf.placeholder_with_default(tf.constant([1.0]), [1])
    function = K.function([x], [x + 1.0])
    assert function([None]) == [[2.0]]
    assert function([[4.0]]) == [[5.0]]
    assert function([None]) == [[2.0]]


def test_inputs_may_be_nested(both):
    x, y, z = K.placeholder(()), K.placeholder(()), K.placeholder(())
    function = K.function([[x, y], z], x + 10.0 * y + 100.0 * z)
    assert function([[1.0, 2.0], 3.0]) == 321
    assert function([1.0, 2.0, 3.0]) == 321
    with pytest.raises(ValueError, match="expected values of 3 inputs, received 2"):
        function([1.0, 2.0])


def test_sparse_inputs_and_outputs_have_sparse_values(both):
    x = K.placeholder((2, 2), sparse=True)
    function = K.function([x], [x, K.to_dense(x)])
    sparse, dense = function([tf.SparseTensorValue([[0, 1]], [5.0], [2, 2])])
    np.testing.assert_array_equal(dense, [[0, 5], [0, 0]])
    assert isinstance(sparse, tf.SparseTensorValue)
    np.testing.assert_array_equal(sparse.indices, [[0, 1]])
    np.testing.assert_array_equal(sparse.values, [5])


def test_updates_are_made_after_outputs_are_computed(both):
    x, variable, other = K.placeholder(()), K.variable(1.0), K.variable(0.0)
    counted = K.update_add(other, 1.0)
    function = K.function([x], [variable * x], updates=[(variable, variable + x), counted])
    assert function([3.0]) == [3]
    assert K.batch_get_value([variable, other]) == [4, 1]
    assert function([2.0]) == [8]
    assert K.batch_get_value([variable, other]) == [6, 2]


def test_only_the_updates_of_a_function_are_made(both):
    variable, x = K.variable(1.0), K.placeholder(())
    K.update(variable, 5.0)
    K.print_tensor(variable, "not printed")
    assert K.function([x], [variable + x])([1.0]) == [2]
    assert K.get_value(variable) == 1


def test_a_variable_is_an_output(both):
    variable = K.variable([1.0, 2.0])
    np.testing.assert_array_equal(K.function([], [variable])([])[0], [1, 2])
    K.set_value(variable, [3.0, 4.0])
    np.testing.assert_array_equal(K.function([], variable)([]), [3, 4])


def test_tensors_are_values_of_inputs():
    x = K.placeholder((2,))
    with tf.Session():
        assert K.function([x], [K.sum(x)])([tf.constant([1.0, 2.0])]) == [3]


@pytest.mark.usefixtures("fresh")
def test_eager_tensors_and_variables_are_values_of_inputs():
    with K.get_graph().as_default():
        x = K.placeholder((2,))
        function = K.function([x], [K.sum(x)])
    assert function([tf.constant([1, 2])]) == [3]
    assert function([K.variable([3.0, 4.0])]) == [7]


def test_gradients_flow_except_through_what_stops_them(both):
    x = K.placeholder((2,))
    loss = K.sum(K.square(x) + x * K.stop_gradient(x))
    np.testing.assert_array_equal(K.function([x], K.gradients(loss, [x]))([[1.0, 2.0]])[0], [3, 6])
    variable = K.variable([3.0])
    gradients = K.gradients(K.sum(variable * x), [variable, K.variable([1.0])])
    assert gradients[1] is None
    assert K.function([x], gradients[:1])([[1.0, 2.0]]) == [[3]]
    first, second = K.stop_gradient([x, x])
    assert K.gradients(first + second, [x]) == [None]


@pytest.mark.usefixtures("fresh")
def test_values_of_outside_are_captured():
    outside = tf.constant(np.arange(1000.0, dtype=np.float32))
    with K.get_graph().as_default():
        x = K.placeholder(())
        result = K.sum(outside) * x
    assert K.function([x], result)([2.0]) == 999000


@pytest.mark.usefixtures("fresh")
def test_a_value_of_a_wrong_shape_is_refused_in_eager_execution():
    with K.get_graph().as_default():
        x = K.placeholder((None, 2))
    with pytest.raises(ValueError, match=r"expected a value of shape \(\?, 2\)"):
        K.function([x], x)([[1.0, 2.0, 3.0]])


@pytest.mark.usefixtures("fresh")
def test_options_of_a_session_are_refused_in_eager_execution():
    with pytest.raises(ValueError, match="have no meaning in eager execution"):
        K.function([], [], feed_dict={})


def test_options_of_a_session_are_used():
    x, y, variable = K.placeholder(()), K.placeholder(()), K.variable(0.0)
    metadata = tf.RunMetadata()
    function = K.function(
        [x],
        [x + y],
        feed_dict={y: 10.0},
        fetches=[K.update_add(variable, 1.0)],
        options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
        run_metadata=metadata,
    )
    with tf.Session():
        assert function([1.0]) == [11]
        assert function([2.0]) == [12]
        assert K.get_value(variable) == 2
        assert metadata.step_stats.dev_stats
        function.feed_dict[y] = 20.0
        assert function([2.0]) == [22]
        seen = []
        function.fetches.append(y)
        function.fetch_callbacks[y] = seen.append
        function([2.0])
        assert seen == [20]
    with pytest.raises(ValueError, match=r"received \['session'\]"):
        K.function([x], [x], session=None)


def test_a_function_follows_the_session():
    variable = K.variable(1.0)
    function = K.function([], [variable])
    for value in (2.0, 3.0):
        with tf.Session():
            assert function([]) == [1]
            K.set_value(variable, value)
            assert function([]) == [value]


def test_a_function_adds_nothing_to_the_graph_when_it_is_called():
    x = K.placeholder(())
    function = K.function([x], [x + 1.0], updates=[(K.variable(0.0), x)])
    with tf.Session() as session:
        function([1.0])
        count = len(session.graph.get_operations())
        function([2.0])
        assert len(session.graph.get_operations()) == count


def test_updates_are_a_list():
    with pytest.raises(TypeError, match="updates: expected a list or a tuple"):
        K.function([], [], updates=K.variable(1.0))


@pytest.mark.usefixtures("fresh")
def test_symbolic_tensors_of_eager_execution_are_used_outside_of_their_graph():
    x = K.placeholder((None, 3))
    y = K.dot(x, K.variable(np.ones([3, 2])))
    results = K.function([x], [K.relu(y, max_value=2.0), K.switch(K.sum(x) > 0.0, y, -y)])([np.ones([2, 3])])
    np.testing.assert_array_equal(results, [np.full([2, 2], 2.0), np.full([2, 2], 3.0)])
