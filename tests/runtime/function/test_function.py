"""tf.function in eager execution: tracing, arguments, variables, effects in program order, and gradients."""

import functools
import gc
import logging
import weakref

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.runtime.eager.mode import eager_mode


@pytest.fixture(autouse=True)
def eager():
    with eager_mode():
        yield


def counting(function, **options):
    """Returns a traced function, and the list of its traces."""
    traces = []

    @functools.wraps(function)
    def counted(*args, **kwargs):
        traces.append((args, kwargs))
        return function(*args, **kwargs)

    return tf.function(counted, **options), traces


# -- arguments and traces ---------------------------------------------------------------------------------------------


def test_a_function_is_traced_once_for_each_type_and_shape():
    double, traces = counting(lambda x: x + x)
    assert double(tf.constant(2.0)).numpy() == 4
    assert double(tf.constant(3.0)).numpy() == 6
    assert len(traces) == 1
    assert double(tf.constant(3)).numpy() == 6
    np.testing.assert_array_equal(double(tf.constant([1.0, 2.0])), [2, 4])
    np.testing.assert_array_equal(double(np.float32([3, 4])), [6, 8])  # arrays are tensors
    assert len(traces) == 3
    assert all(not isinstance(args[0], np.ndarray) for args, _ in traces)


def test_python_values_are_part_of_the_trace():
    power, traces = counting(lambda x, n: x ** int(n))
    x = tf.constant(3.0)
    assert [power(x, 2).numpy(), power(x, 3).numpy(), power(x, 2).numpy()] == [9, 27, 9]
    assert len(traces) == 2
    assert power(x, n=2).numpy() == 9  # however it is passed
    assert len(traces) == 2
    assert power(x, True).numpy() == 3
    assert len(traces) == 3


def test_structures_of_arguments_and_results():
    @tf.function
    def swap(pair, scale=2.0, *, offset):
        return {"swapped": (pair["b"], pair["a"]), "scaled": pair["a"] * scale + offset, "nothing": None}

    a, b = tf.constant(1.0), tf.constant([2.0, 3.0])
    found = swap({"a": a, "b": b}, offset=tf.constant(10.0))
    assert found["nothing"] is None
    assert found["scaled"].numpy() == 12
    np.testing.assert_array_equal(found["swapped"][0], [2, 3])
    assert swap({"a": a, "b": b}, 3.0, offset=1.0)["scaled"].numpy() == 4


def test_a_function_without_a_result():
    v = tf.Variable(1.0)

    @tf.function
    def increase():
        v.assign_add(1.0)

    assert increase() is None
    assert increase() is None
    assert v.numpy() == 3


def test_methods_are_functions_of_their_object():
    class Scale:
        def __init__(self, factor):
            self.factor = tf.Variable(factor)

        @tf.function
        def __call__(self, x):
            return x * self.factor

    two, three = Scale(2.0), Scale(3.0)
    assert two(tf.constant(5.0)).numpy() == 10
    assert three(tf.constant(5.0)).numpy() == 15
    gone = weakref.ref(two)
    del two
    gc.collect()
    assert gone() is None


def test_input_signature():
    total, traces = counting(tf.reduce_sum, input_signature=[tf.TensorSpec([None], tf.float32)])
    assert total(tf.constant([1.0, 2.0])).numpy() == 3
    assert total([1, 2, 3]).numpy() == 6
    assert len(traces) == 1
    with pytest.raises(ValueError, match=r"Python inputs incompatible with input_signature.*int32"):
        total(tf.constant([1, 2]))
    with pytest.raises(ValueError, match=r"shape \(1, 1\)"):
        total(tf.ones([1, 1]))


def test_shapes_are_relaxed_on_request():
    total, traces = counting(tf.reduce_sum, experimental_relax_shapes=True)
    for size in (2, 3, 4, 5):
        assert total(tf.ones([size])).numpy() == size
    assert len(traces) == 2
    assert traces[1][0][0].shape.as_list() == [None]


def test_concrete_functions():
    add, traces = counting(lambda x, y: x + y)
    concrete = add.get_concrete_function(tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.float32))
    np.testing.assert_array_equal(concrete(tf.constant([1.0, 2.0]), tf.constant(1.0)), [2, 3])
    np.testing.assert_array_equal(concrete(tf.constant([1.0]), tf.constant(1.0)), [2])
    assert len(traces) == 1
    assert concrete.output_shapes.as_list() == [None]
    assert concrete.output_dtypes is tf.float32
    with pytest.raises(ValueError, match=r"expected float32 of shape \(\?,\)"):
        concrete(tf.ones([1, 1]), tf.constant(1.0))
    with pytest.raises(TypeError, match="expected 2 tensors, received 1"):
        concrete(tf.ones([1]))


def test_many_traces_are_reported_with_what_changed(caplog):
    power = tf.function(lambda x, n: x**n)
    with caplog.at_level(logging.WARNING, "thalweg"):
        for n in range(8):
            power(tf.constant(1.0), n)
    assert len(caplog.records) == 1
    assert "n (4, then 5)" in caplog.text
    assert "pass numbers that change as tensors" in caplog.text


# -- what a function captures -----------------------------------------------------------------------------------------


def test_captured_tensors_keep_their_values():
    x = tf.constant([1.0, 2.0])
    n = tf.constant(3)
    repeat = tf.function(lambda: tf.tile(x, [n]))
    assert repeat().shape.as_list() == [6]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(repeat() * 2.0)
    np.testing.assert_array_equal(tape.gradient(y, x), [6, 6])


def test_variables_are_created_by_the_first_call_alone():
    made = []

    @tf.function
    def count(x):
        if not made:
            made.append(tf.Variable(tf.ones([2]) * 5.0, name="counter"))
        made[0].assign_add(x)
        return made[0].read_value()

    np.testing.assert_array_equal(count(tf.constant([1.0, 2.0])), [6, 7])
    np.testing.assert_array_equal(count(tf.constant([1.0, 2.0])), [7, 9])
    assert len(made) == 1

    @tf.function
    def wrong(x):
        return tf.Variable(1.0) * x

    with pytest.raises(ValueError, match="tried to create variables on non-first call"):
        wrong(tf.constant(1.0))


def test_a_function_does_not_keep_its_variables():
    def call():
        v = tf.Variable(1.0)
        assert tf.function(lambda: v + 1.0)().numpy() == 2
        return weakref.ref(v._handle.value)

    resource = call()
    gc.collect()
    assert resource() is None


# -- effects ----------------------------------------------------------------------------------------------------------


def test_effects_run_in_program_order():
    v = tf.Variable(1.0)

    @tf.function
    def change():
        before = v.read_value()
        v.assign(10.0)
        between = v + 0.0
        v.assign_add(5.0)
        return before, between, v.read_value()

    assert [value.numpy() for value in change()] == [1, 10, 15]
    assert [value.numpy() for value in change()] == [15, 10, 15]


def test_effects_in_conditionals():
    v, w = tf.Variable(0.0), tf.Variable(0.0)

    @tf.function
    def change(x):
        v.assign(1.0)
        result = tf.cond(x > 0, lambda: v.assign_add(10.0).read_value(), lambda: tf.constant(-1.0))
        tf.cond(x > 1, lambda: [w.assign_add(1.0).read_value()], lambda: [tf.constant(0.0)])
        after = v.read_value()
        v.assign_add(100.0)
        return result, after

    assert [value.numpy() for value in change(tf.constant(1.0))] == [11, 11]
    assert (v.numpy(), w.numpy()) == (111, 0)
    assert [value.numpy() for value in change(tf.constant(-1.0))] == [-1, 1]
    assert (v.numpy(), w.numpy()) == (101, 0)
    change(tf.constant(2.0))
    assert (v.numpy(), w.numpy()) == (111, 1)


def test_effects_in_loops():
    v = tf.Variable(1.0)

    @tf.function
    def grow(n):
        def body(i):
            v.assign(v * 2.0)
            v.assign_add(1.0)
            return i + 1

        tf.while_loop(lambda i: i < n, body, [0])
        return v.read_value()

    assert grow(tf.constant(3)).numpy() == 15
    assert grow(tf.constant(2)).numpy() == 63
    assert grow(tf.constant(0)).numpy() == 63


def test_prints_run_in_order(capfd):
    @tf.function
    def speak(x):
        tf.print("first", x)
        tf.print("second")
        return x

    speak(tf.constant(1))
    speak(tf.constant(2))
    assert capfd.readouterr().err.split() == ["first", "1", "second", "first", "2", "second"]


def test_effects_of_called_functions_are_ordered():
    v = tf.Variable(1.0)

    @tf.function
    def double():
        v.assign(v * 2.0)

    @tf.function
    def outer():
        v.assign_add(1.0)
        double()
        v.assign_add(1.0)
        double()
        return v.read_value()

    assert outer().numpy() == 10
    assert outer().numpy() == 46


# -- control flow -----------------------------------------------------------------------------------------------------


def test_control_flow_of_python_on_tensors():
    v = tf.Variable(0.0)

    @tf.function
    def collatz(n):
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            v.assign_add(1.0)
            steps += 1
        return steps

    assert collatz(tf.constant(27)).numpy() == 111
    assert v.numpy() == 111
    assert collatz(tf.constant(1)).numpy() == 0


def test_methods_are_converted():
    class Model:
        def __init__(self):
            self.w = tf.Variable(2.0)

        @tf.function
        def apply(self, x, n):
            for _ in tf.range(n):
                x = self.scaled(x)
            return x

        def scaled(self, x):
            if x > 10.0:
                return x
            return x * self.w

    model = Model()
    assert model.apply(tf.constant(1.0), tf.constant(3)).numpy() == 8
    assert model.apply(tf.constant(1.0), tf.constant(6)).numpy() == 16
    with tf.GradientTape() as tape:
        y = model.apply(tf.constant(1.0), tf.constant(3))
    assert tape.gradient(y, model.w).numpy() == 12


def test_autograph_can_be_switched_off():
    @tf.function(autograph=False)
    def wrong(x):
        return x if x > 0 else -x

    with pytest.raises(TypeError, match="Python `bool`"):
        wrong(tf.constant(1.0))


# -- gradients --------------------------------------------------------------------------------------------------------


def test_gradients_of_arguments_and_variables():
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    loss = tf.function(lambda x: tf.reduce_sum(tf.square(tf.matmul(x, w))))
    x = tf.constant([[1.0, -1.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loss(x) * 0.5
    by_x, by_w = tape.gradient(y, [x, w])
    np.testing.assert_allclose(by_x, [[-6.0, -14.0]])
    np.testing.assert_allclose(by_w, [[-2.0, -2.0], [2.0, 2.0]])


def test_a_tape_inside_a_function():
    v = tf.Variable(3.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = v * v * x
        grad = tape.gradient(loss, v)
        v.assign_sub(0.1 * grad)
        return grad

    assert step(tf.constant(2.0)).numpy() == 12
    np.testing.assert_allclose(v.numpy(), 1.8, rtol=1e-6)


@pytest.mark.parametrize("value", [0.5, -0.5])
def test_higher_derivatives(value):
    def plain(x):
        y = tf.cond(x > 0, lambda: tf.exp(x) * x, lambda: tf.sin(x) * x)
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * y + x), [0, x])[1]

    def derivatives(function):
        x = tf.constant(value)
        with tf.GradientTape() as third:
            third.watch(x)
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape() as first:
                    first.watch(x)
                    y = function(x)
                d1 = first.gradient(y, x)
            d2 = second.gradient(d1, x)
        return [y.numpy(), d1.numpy(), d2.numpy(), third.gradient(d2, x).numpy()]

    np.testing.assert_allclose(derivatives(tf.function(plain)), derivatives(plain), rtol=1e-4)


def test_sparse_gradients():
    table = tf.Variable(np.arange(12, dtype=np.float32).reshape(4, 3))
    look_up = tf.function(lambda rows: tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, rows))))
    with tf.GradientTape() as tape:
        loss = look_up(tf.constant([1, 1, 3]))
    grad = tape.gradient(loss, table)
    assert isinstance(grad, tf.IndexedSlices)
    dense = np.zeros([4, 3], np.float32)
    np.add.at(dense, grad.indices.numpy(), grad.values.numpy())
    expected = np.zeros([4, 3], np.float32)
    expected[1], expected[3] = 2 * 2 * table.numpy()[1], 2 * table.numpy()[3]
    np.testing.assert_allclose(dense, expected)


def test_gradients_of_nested_functions():
    v = tf.Variable(2.0)
    inner = tf.function(lambda x: v * x * x)
    outer = tf.function(lambda x: inner(x) + inner(x * 2.0))
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = outer(x)
    assert y.numpy() == 90
    assert [grad.numpy() for grad in tape.gradient(y, [x, v])] == [60, 45]


def test_only_used_results_have_gradients():
    both = tf.function(lambda x: (x * 2.0, x * x, tf.cast(x, tf.int32)))
    x = tf.constant(5.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        _, square, _ = both(x)
    assert tape.gradient(square, x).numpy() == 10


# -- in graphs --------------------------------------------------------------------------------------------------------


def test_a_function_in_a_graph():
    square, traces = counting(lambda x: x * x)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        y = square(square(x))
        grad = tf.gradients(y, x)[0]
        assert y.op.type == "PartitionedCall"
        assert session.run([y, grad], {x: 2.0}) == [16, 32]
    assert len(traces) == 1


def test_variables_of_a_graph_in_a_function():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", [], initializer=tf.constant_initializer(3.0), use_resource=True)

        @tf.function
        def step(x):
            v.assign_add(x)
            return v * 2.0

        y = step(tf.constant(1.0))
        grad = tf.gradients(tf.function(lambda: v * v)(), v)[0]
        session.run(tf.global_variables_initializer())
        assert session.run(y) == 8
        assert session.run(grad) == 8


def test_defun_may_create_variables_in_each_trace():
    made = []

    @tf.contrib.eager.defun
    def scale(x):
        made.append(tf.Variable(2.0))
        return x * made[-1]

    assert scale(tf.constant(3.0)).numpy() == 6
    assert scale(tf.constant(4.0)).numpy() == 8
    np.testing.assert_array_equal(scale(tf.constant([1.0, 2.0])), [2, 4])
    assert len(made) == 2


def test_functions_can_run_as_plain_python():
    seen = []

    @tf.function
    def double(x):
        seen.append(x)
        return x * 2.0

    tf.config.experimental_run_functions_eagerly(True)
    try:
        assert tf.config.experimental_functions_run_eagerly()
        assert double(tf.constant(3.0)).numpy() == 6
        assert seen[0].numpy() == 3
    finally:
        tf.config.experimental_run_functions_eagerly(False)
    double(tf.constant(3.0))
    assert not hasattr(seen[1], "numpy")


# -- misuse -----------------------------------------------------------------------------------------------------------


def test_tensors_that_leave_their_function():
    kept = []
    tf.function(lambda x: kept.append(x * 2.0) or x)(tf.constant(1.0))
    with pytest.raises(TypeError, match="outside of the function"):
        kept[0] + 1.0
    with pytest.raises(AttributeError, match="has no attribute 'numpy'"):
        kept[0].numpy()
    other = tf.function(lambda: kept[0] + 1.0)
    with pytest.raises(ValueError, match="does not enclose the function"):
        other()


def test_errors_have_the_users_line():
    @tf.function
    def wrong(x, y):
        return tf.matmul(x, tf.reshape(y, [2, -1]))

    with pytest.raises(ValueError, match="Dimensions must be equal"):
        wrong(tf.ones([2, 3]), tf.ones([4]))
    relaxed = tf.function(wrong.python_function, input_signature=[tf.TensorSpec(None, tf.float32)] * 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"test_function.py:\d+ in wrong"):
        relaxed(tf.ones([2, 3]), tf.ones([4]))


def test_a_function_must_be_callable():
    with pytest.raises(TypeError, match="expected a callable"):
        tf.function(3)


# -- effects in converted branches and loops --------------------------------------------------------------------------


def test_state_that_a_branch_may_change_is_read_after_it():
    variable = tf.Variable(0.0)

    @tf.function
    def changed(x):
        if x > 2.0:
            variable.assign(2 * x)
            if x > 5.0:
                variable.assign_add(100.0)
        else:
            for _ in tf.range(3):
                variable.assign_add(1.0)
        return variable.read_value()

    assert [changed(tf.constant(x)).numpy() for x in (3.0, 1.0, 6.0, 1.0, 0.0)] == [6, 9, 112, 115, 118]


def test_state_that_a_branch_reads_is_changed_after_it():
    variable = tf.Variable(0.0)

    @tf.function
    def before(x):
        first = tf.constant(1.0)
        second = tf.constant(0.0)
        if x > 2.0:
            first = tf.constant(2.0)
            second = variable * 2.0
        variable.assign(-1.0)
        return first, second

    for x, expected in ((3.0, (2, 10)), (1.0, (1, 0))):
        variable.assign(5.0)
        assert tuple(value.numpy() for value in before(tf.constant(x))) == expected
        assert variable.numpy() == -1


def test_state_that_a_conditional_of_the_graph_reads_is_changed_after_it():
    variable = tf.Variable(0.0)

    @tf.function(autograph=False)
    def before(x):
        found = tf.cond(x > 2.0, lambda: (1.0, variable * 2.0), lambda: (2.0, variable * 3.0))
        variable.assign(-1.0)
        return found

    for x, expected in ((3.0, (1, 10)), (1.0, (2, 15))):
        variable.assign(5.0)
        assert tuple(value.numpy() for value in before(tf.constant(x))) == expected


def _total(x):
    return sum(_total(each) for each in x) if isinstance(x, tuple) else x


def test_a_function_that_calls_itself_in_a_generator():
    assert tf.function(_total)((tf.constant(1.0), (tf.constant(2.0), tf.constant(3.0)))).numpy() == 6


def test_gradients_through_a_loop_that_reads_and_writes_arrays():
    weights, x = tf.Variable(np.full([5, 3], 0.1, np.float32)), tf.constant(np.ones([2, 4, 5], np.float32))

    def all_states(x):
        steps = tf.TensorArray(tf.float32, 4, element_shape=[2, 5]).unstack(tf.transpose(x, [1, 0, 2]))

        def body(t, state, states):
            state = tf.tanh(state + tf.matmul(steps.read(t), weights))
            return t + 1, state, states.write(t, state)

        initial = (tf.constant(0), tf.zeros([2, 3]), tf.TensorArray(tf.float32, 4))
        return tf.while_loop(lambda t, state, states: t < 4, body, initial)[2].stack()

    found = []
    for function in (all_states, tf.function(all_states)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(function(x))
        found.append([slope.numpy() for slope in tape.gradient(total, [weights, x])])
    for mine, other in zip(*found):
        np.testing.assert_allclose(mine, other, rtol=1e-5)


def test_collections_of_the_graph_around_a_function():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=2.0, use_resource=True)
        tf.add_to_collection("numbers", 3.0)
        optimizer = tf.train.GradientDescentOptimizer(0.5)

        @tf.function
        def step():
            tf.add_to_collection("numbers", 4.0)
            optimizer.minimize(v * sum(tf.get_collection("numbers")))
            return v.read_value()

        result = step()
        assert tf.get_collection("numbers") == [3.0], "what the function adds is its own"
        session.run(tf.global_variables_initializer())
        assert session.run(result) == 2.0 - 0.5 * 7.0


def test_gradients_of_what_a_function_captures_from_graphs_around_it():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=2.0, use_resource=True)
        w = tf.constant([1.0, 2.0]) + 1.0

        @tf.function
        def outer():
            @tf.function
            def inner():
                return tf.gradients(w * w, w)[0]

            with tf.GradientTape() as tape:
                y = v * v
            return inner(), tf.gradients(w * v, [w, v], stop_gradients=[v]), tape.gradient(y, v)

        result = outer()
        session.run(tf.global_variables_initializer())
        of_inner, (of_w, of_v), by_tape = session.run(result)
        assert of_inner.tolist() == [4.0, 6.0] and of_w.tolist() == [2.0, 2.0]
        assert (of_v, by_tape) == (5.0, 4.0)
