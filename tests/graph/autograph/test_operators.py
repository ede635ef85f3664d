"""What converted functions add to the graph: effects, options of loops, gradients and lists."""

import numpy as np
import pytest

import thalweg as tf

to_graph = tf.autograph.to_graph


def runs(function, dtype, shape, values):
    """Returns the results of a converted function for the values of a placeholder."""
    x = tf.placeholder(dtype, shape)
    result = to_graph(function)(x)
    with tf.Session() as session:
        return [session.run(result, {x: value}) for value in values]


# -- effects ----------------------------------------------------------------------------------------------------------


def test_print_runs_with_the_step(capfd):
    def prints(x):
        print("x is", x)
        if x > 2:
            print("large", [x, x], sep=": ", end="!\n")
        for i in range(x):
            print("i", i)
        return x

    runs(prints, tf.int32, [], [1, 3])
    assert capfd.readouterr().out == "x is 1\ni 0\nx is 3\nlarge: [3, 3]!\ni 0\ni 1\ni 2\n"


def test_print_of_python_values_runs_while_the_graph_is_built(capsys):
    def prints(x):
        print("built", 1, end="")
        return x

    runs(prints, tf.int32, [], [1, 2, 3])
    assert capsys.readouterr().out == "built 1"


def test_a_failed_assertion_fails_the_step():
    def checked(x):
        assert x < 5, "too large"
        if x > 2:
            assert x != 4
        return x

    x = tf.placeholder(tf.int32, [])
    result = to_graph(checked)(x)
    with tf.Session() as session:
        assert session.run(result, {x: 3}) == 3
        for value, words in ((7, "too large"), (4, "Assertion error")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(result, {x: value})


def test_the_effects_of_a_called_function_are_those_of_its_caller():
    def check(x):
        assert x > 0, "not positive"

    def caller(x):
        check(x)
        while x < 10:
            check(x)
            x = x * 2 - 3
        return x

    x = tf.placeholder(tf.int32, [])
    result = to_graph(caller)(x)
    with tf.Session() as session:
        assert session.run(result, {x: 4}) == 11
        for value in (-1, 1):
            with pytest.raises(tf.errors.InvalidArgumentError, match="not positive"):
                session.run(result, {x: value})


@pytest.mark.parametrize("use_resource", [True, False])
def test_an_assignment_as_a_statement_runs_in_its_branch(use_resource):
    v = tf.get_variable("v", [], tf.int32, tf.zeros_initializer(), use_resource=use_resource)

    def counts(x):
        if x > 2:
            v.assign_add(x)
        for _ in range(x):
            tf.assign_add(v, 100)
        return x

    x = tf.placeholder(tf.int32, [])
    result = to_graph(counts)(x)
    with tf.Session() as session:
        session.run(v.initializer)
        found = []
        for value in (1, 3, 0):
            session.run(result, {x: value})
            found.append(session.run(v))
    assert found == [100, 403, 403]


def test_an_effect_in_a_branch_of_cond_stays_in_it(capfd):
    def caller(x):
        def large():
            print("large")
            tf.print("large", x, output_stream="file:///dev/null")
            return x * 2

        return tf.cond(x > 2, large, lambda: x)

    assert runs(caller, tf.int32, [], [1, 3]) == [1, 6]


def test_only_one_branch_runs(capfd):
    def divides(x):
        if x != 0:
            return 12 // x
        return 0

    assert runs(divides, tf.int32, [], [0, 4]) == [0, 3]


# -- loops ------------------------------------------------------------------------------------------------------------


def test_the_options_of_a_loop():
    def loop(x):
        y = tf.zeros([1])
        while x > 0:
            tf.autograph.experimental.set_loop_options(
                parallel_iterations=3, swap_memory=True, maximum_iterations=4, shape_invariants=[(y, [None])]
            )
            y = tf.concat([y, [1.0]], 0)
            x -= 1
        return y

    assert [len(value) for value in runs(loop, tf.int32, [], [0, 2, 9])] == [1, 3, 5]
    enters = [op for op in tf.get_default_graph().get_operations() if op.type == "Enter"]
    assert {op.get_attr("parallel_iterations") for op in enters} == {3}


def test_shape_invariants_of_a_structure():
    def loop(x):
        pair = (tf.zeros([1]), tf.zeros([2]))
        while x > 0:
            tf.autograph.experimental.set_loop_options(shape_invariants=[(pair, ([None], [2]))])
            pair = (tf.concat([pair[0], [1.0]], 0), pair[1] + 1)
            x -= 1
        assert [part.shape.as_list() for part in pair] == [[None], [2]]
        return tf.concat(pair, 0)

    assert [len(value) for value in runs(loop, tf.int32, [], [0, 2])] == [3, 5]


def test_maximum_iterations_of_a_loop_over_a_range():
    def loop(x):
        y = 0
        for i in range(10, x, 2):
            tf.autograph.set_loop_options(maximum_iterations=3)
            y += i
        return y

    assert runs(loop, tf.int32, [], [10, 14, 99]) == [0, 22, 36]
    assert to_graph(loop)(99) == loop(99)


def test_a_tensor_array_is_a_variable_of_a_loop():
    def squares(x):
        array = tf.TensorArray(tf.int32, x)
        for i in range(x):
            if i > 1:
                array = array.write(i, i * i)
            else:
                array = array.write(i, -1)
        return array.stack()

    np.testing.assert_array_equal(runs(squares, tf.int32, [], [4])[0], [-1, -1, 4, 9])


def test_elements_of_a_tensor_array_are_assigned():
    def squares(x):
        array = tf.TensorArray(tf.int32, x)
        for i in range(x):
            array[i] = i * i
        return array.stack() + len(array)

    np.testing.assert_array_equal(runs(squares, tf.int32, [], [3])[0], [3, 4, 7])


def test_a_list_of_a_loop_becomes_a_tensor():
    def collected(x):
        values = []
        for row in x:
            values.append(row * 2)
        return tf.stack(values), tf.convert_to_tensor(values), values[-1], values[:1]

    stacked, converted, last, first = runs(collected, tf.float32, [None, 2], [[[1, 2], [3, 4]]])[0]
    np.testing.assert_array_equal(stacked, [[2, 4], [6, 8]])
    np.testing.assert_array_equal(converted, stacked)
    np.testing.assert_array_equal(last, [6, 8])
    np.testing.assert_array_equal(first, [[2, 4]])


def test_iterating_keeps_the_static_shape():
    shapes = []

    def seen(x):
        for row in x:
            shapes.append(row.shape.as_list())
        return tf.shape(x)

    runs(seen, tf.float32, [None, 3], [np.ones([2, 3])])
    assert shapes == [[3]]


def test_a_loop_switches_to_the_graph_when_its_condition_becomes_a_tensor():
    def loop(x):
        i = 0
        done = False
        while not done:
            i += 1
            if i >= 2:
                done = i * x > 10
        return i

    assert runs(loop, tf.int32, [], [20, 3, 1]) == [loop(20), loop(3), loop(1)]


def test_strings():
    def longest(words):
        best = ""
        for word in words:
            if tf.strings.length(word) > tf.strings.length(best):
                best = word
        return best if best != "none" else "nothing"

    assert runs(longest, tf.string, [None], [["a", "ccc", "bb"], ["none"], []]) == [b"ccc", b"nothing", b""]


def test_text_becomes_numbers():
    def parsed(text):
        return int(text) + 1, float(text)

    assert runs(parsed, tf.string, [], ["41"]) == [(42, 41.0)]


def test_sparse_tensors_are_variables():
    def chosen(x):
        one = tf.SparseTensor([[0]], tf.stack([x]), [2])
        other = tf.SparseTensor([[1]], tf.stack([x * 2]), [2])
        if x > 1:
            one = other
        return tf.sparse.to_dense(one)

    found = runs(chosen, tf.int32, [], [1, 5])
    np.testing.assert_array_equal(found, [[1, 0], [0, 10]])


def test_variables_of_the_graph_are_conditions():
    flag = tf.get_variable("flag", [], tf.bool, tf.zeros_initializer(), use_resource=True)

    def chosen(x):
        if flag:
            return x
        return -x

    x = tf.placeholder(tf.int32, [])
    result = to_graph(chosen)(x)
    with tf.Session() as session:
        session.run(flag.initializer)
        assert session.run(result, {x: 3}) == -3
        session.run(flag.assign(True))
        assert session.run(result, {x: 3}) == 3


def test_graphs_are_the_same_for_python_conditions():
    def plain(x):
        for i in (1, 2):
            if i > 1:
                x = x * i
        return x

    with tf.Graph().as_default() as one:
        plain(tf.placeholder(tf.int32, []))
    with tf.Graph().as_default() as other:
        to_graph(plain)(tf.placeholder(tf.int32, []))
    assert one.as_graph_def() == other.as_graph_def()


# -- gradients --------------------------------------------------------------------------------------------------------


def smooth(x):
    if x > 2.0:
        return x * x * x
    y = x
    while y < 10.0:
        y = y * y + 1.0
        if y > 6.0:
            break
    return y * x


def collects(x):
    values = []
    for i in range(3):
        if x > 0.5:
            values.append(x * float(i))
        else:
            values.append(x * x)
    total = 0.0
    for value in values:
        total += value * value
    return total


def collects_in_the_graph(x):
    values = []
    i = tf.constant(0.0)
    while i < 3.0:
        values.append(x * i)
        i += 1.0
    total = tf.constant(0.0)
    for value in values:
        total += value * value
    return total


def returns_in_a_loop(x):
    for i in tf.range(5):
        x = x * x
        if x > 3.0:
            return x * 2.0
    return x


@pytest.mark.parametrize("function", [smooth, collects, collects_in_the_graph, returns_in_a_loop])
@pytest.mark.parametrize("value", [0.3, 1.3, 2.5])
def test_gradients(function, value):
    x = tf.placeholder(tf.float32, [])
    y = to_graph(function)(x)
    gradient = tf.gradients(y, x)[0]
    with tf.Session() as session:
        found = session.run(gradient, {x: value})
        low, high = (session.run(y, {x: value + d}) for d in (-1e-3, 1e-3))
        np.testing.assert_allclose(found, (high - low) / 2e-3, rtol=2e-2, atol=1e-2)


def test_gradients_of_a_loop_over_rows():
    def total(rows):
        y = tf.zeros([2])
        for row in rows:
            if tf.reduce_sum(row) > 0.0:
                y += row * row
        return tf.reduce_sum(y)

    rows = tf.placeholder(tf.float32, [None, 2])
    gradient = tf.gradients(to_graph(total)(rows), rows)[0]
    with tf.Session() as session:
        found = session.run(gradient, {rows: [[1, 2], [-3, 1], [4, 0]]})
    np.testing.assert_allclose(found, [[2, 4], [0, 0], [8, 0]])
