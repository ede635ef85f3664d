"""Functions of pipelines: what they take from outside, what state they have, how they fail."""

import numpy as np
import pytest

import thalweg as tf
from tests.training.data.running import elements, take

Dataset = tf.data.Dataset


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def start(session, dataset):
    """Returns the element of an iterator that is initialized."""
    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
    iterator = dataset.make_initializable_iterator()
    session.run(iterator.initializer)
    return iterator.get_next()


def test_outer_tensors_are_evaluated_by_the_initializer(session):
    factor = tf.placeholder(tf.int64, [])
    doubled = factor * 2
    iterator = Dataset.range(3).map(lambda x: x * doubled + factor).make_initializable_iterator()
    session.run(iterator.initializer, {factor: 5})
    assert take(session, iterator.get_next()) == [5, 15, 25]


def test_nested_functions_capture_outer_tensors(session):
    outer = tf.placeholder_with_default(np.int64(100), [])
    dataset = Dataset.range(2).flat_map(
        lambda x: Dataset.range(2).flat_map(lambda y: Dataset.range(x + y + outer, 103))
    )
    assert take(session, start(session, dataset)) == [100, 101, 102, 101, 102, 101, 102, 102]


def test_captured_constants_are_known_statically(session):
    shape = tf.constant([2, 3])
    assert Dataset.range(2).map(lambda x: tf.zeros(shape)).output_shapes.as_list() == [2, 3]


def test_variable_is_read_by_each_call(session):
    variable = tf.Variable(np.int64(7), use_resource=True)
    element = start(session, Dataset.range(3).map(lambda x: x + variable + 10 * variable.read_value()))
    assert session.run(element) == 77
    session.run(variable.assign(100))
    assert session.run(element) == 1101


def test_captured_variable_values_are_those_at_initialization(session):
    variable = tf.Variable(np.int64(7))
    value = tf.identity(variable)
    element = start(session, Dataset.range(3).map(lambda x: x + value))
    assert session.run(element) == 7
    session.run(variable.assign(100))
    assert session.run(element) == 8


def test_uninitialized_variable(session):
    variable = tf.Variable(np.int64(7), use_resource=True)
    iterator = Dataset.range(3).map(lambda x: x + variable).make_initializable_iterator()
    session.run(iterator.initializer)
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
        session.run(iterator.get_next())


def test_functions_may_write_variables(session):
    count = tf.Variable(np.int64(0), use_resource=True)

    def counted(x):
        with tf.control_dependencies([count.assign_add(1)]):
            return tf.identity(x)

    element = start(session, Dataset.range(3).map(counted))
    assert take(session, element) == [0, 1, 2]
    assert session.run(count) == 3


def test_functions_cannot_write_reference_variables():
    count = tf.Variable(np.int64(0))
    with pytest.raises(ValueError, match="use_resource=True"):
        Dataset.range(3).map(lambda x: count.assign_add(1) + x)


def test_tables(session):
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), -1
    )
    element = start(session, Dataset.from_tensor_slices(["b", "x", "a"]).map(table.lookup))
    assert take(session, element) == [2, -1, 1]


def test_python_functions(session):
    seen = []

    def look(x):
        seen.append(int(x))
        return x * 2

    dataset = Dataset.range(3).map(lambda x: tf.py_func(look, [x], tf.int64))
    assert dataset.output_shapes.ndims is None
    assert take(session, start(session, dataset)) == [0, 2, 4]
    assert seen == [0, 1, 2]


def test_unused_operations_with_effects_run(session):
    seen = []

    def look(x):
        tf.py_func(lambda value: seen.append(int(value)), [x], [])
        return x

    assert take(session, start(session, Dataset.range(3).map(look))) == [0, 1, 2]
    assert seen == [0, 1, 2]


def test_control_flow(session):
    def halve(x):
        return tf.while_loop(lambda n, i: n > 1, lambda n, i: (n // 2, i + 1), [x, np.int64(0)])[1]

    dataset = Dataset.range(1, 9).map(lambda x: tf.cond(x > 4, lambda: halve(x), lambda: -x))
    assert take(session, start(session, dataset)) == [-1, -2, -3, -4, 2, 2, 2, 3]


def test_gradients_in_a_function(session):
    dataset = Dataset.from_tensor_slices([1.0, 2.0, 3.0]).map(lambda x: tf.gradients(x**3, x)[0])
    assert take(session, start(session, dataset)) == [3, 12, 27]


def test_random_numbers_of_a_function():
    def build(seed):
        return lambda: Dataset.range(4).map(lambda x: tf.random_uniform([], seed=seed)).repeat(2)

    first = elements(build(1))
    assert first == elements(build(1)) != elements(build(2))
    assert len(set(first[:4])) == 4
    assert first[:4] == first[4:]  # a pass starts afresh
    assert len(set(elements(build(None)))) == 8


def test_two_functions_have_different_random_numbers():
    def build():
        one = Dataset.range(4).map(lambda x: tf.random_uniform([], seed=1))
        other = Dataset.range(4).map(lambda x: tf.random_uniform([], seed=1))
        return Dataset.zip((one, other))

    assert all(a == b for a, b in elements(build))


def test_functions_inherit_the_graph_seed():
    def build():
        tf.set_random_seed(5)
        return Dataset.range(3).map(lambda x: tf.random_uniform([]))

    assert elements(build) == elements(build)


def test_errors_name_the_users_line(session):
    element = start(session, Dataset.range(3).map(lambda x: tf.reshape(x, [x])))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Reshape.*\n(.*\n)*.*test_functions.py") as caught:
        session.run(element)
    assert "IteratorGetNext" in str(caught.value)
    assert session.run(element) == [1]  # the next element comes all the same


def test_error_of_a_python_function(session):
    def fail(x):
        raise KeyError("missing thing")

    element = start(session, Dataset.range(3).map(lambda x: tf.py_func(fail, [x], tf.int64)))
    with pytest.raises(tf.errors.UnknownError, match="missing thing"):
        session.run(element)


def test_parallel_errors_are_raised_in_order(session):
    check = lambda x: tf.check_numerics(1.0 / tf.cast(x % 3, tf.float32), "bad")  # noqa: E731
    element = start(session, Dataset.range(7).map(check, num_parallel_calls=3))
    found = []
    for _ in range(7):
        try:
            found.append(float(session.run(element)))
        except tf.errors.InvalidArgumentError:
            found.append("error")
    assert found == ["error", 1, 0.5, "error", 1, 0.5, "error"]


def test_tensor_of_an_unrelated_graph():
    with tf.Graph().as_default():
        stranger = tf.placeholder(tf.int64, [])
    with tf.Graph().as_default(), pytest.raises(ValueError, match="does not enclose the function"):
        Dataset.range(3).map(lambda x: x + stranger)


def test_names_and_scopes_of_the_graph_are_unchanged(session):
    with tf.name_scope("scope"):
        dataset = Dataset.range(3).map(lambda x: tf.add(x, 1, name="inner"))
        after = tf.constant(1, name="after")
    assert after.name == "scope/after:0"
    assert dataset._variant.name.startswith("scope/")
    assert not [op for op in tf.get_default_graph().get_operations() if "inner" in op.name]


def test_dataset_in_a_while_loop_of_its_own_graph(session):
    total = Dataset.range(5).reduce(np.int64(0), lambda s, x: s + x)
    assert session.run(total) == 10
    assert session.run(total) == 10


def test_scan_widens_the_state(session):
    grow = tf.data.experimental.scan([0], lambda s, x: (tf.concat([s, s], 0), tf.size(s)))
    dataset = Dataset.range(4).apply(grow)
    assert take(session, start(session, dataset)) == [1, 2, 4, 8]


def test_queue_in_a_function_blocks_outside_steps(session):
    queue = tf.FIFOQueue(10, tf.int64, shapes=[[]])
    element = start(session, Dataset.range(2).map(lambda x: x + queue.dequeue()))
    session.run(queue.enqueue_many([np.array([10, 20], np.int64)]))
    assert take(session, element) == [10, 21]


def test_control_flow_on_tensors_is_converted(session):
    def collatz(n):
        steps = 0
        while n > 1:
            if n % 2 < 1:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps

    def is_small(n):
        return n < 4 or n > 6

    numbers = Dataset.range(1, 8)
    assert take(session, start(session, numbers.map(collatz))) == [0, 1, 7, 2, 5, 8, 16]
    assert take(session, start(session, numbers.filter(is_small))) == [1, 2, 3, 7]


def test_what_fails_also_when_converted_is_an_error():
    def wrong(n):
        return [n, {}] if n > 2 else n

    with pytest.raises(ValueError, match=r"test_functions\.py:[0-9]+ in wrong"):
        Dataset.range(4).map(wrong)
