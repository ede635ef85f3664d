"""cond, case and switch_case: side effects, values, gradients, and errors."""

import collections

import numpy as np
import pytest

import thalweg as tf

Pair = collections.namedtuple("Pair", "first second")


def run(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def variable(value, name="v"):
    return tf.get_variable(name, initializer=value)


# -- values and structures --------------------------------------------------------------------------------------------


def test_one_branch_is_selected(engine):
    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.constant([1.0, 2.0]), lambda: tf.constant([3.0, 4.0]))
    np.testing.assert_array_equal(run(y, {p: True}), [1, 2])
    np.testing.assert_array_equal(run(y, {p: False}), [3, 4])


def test_structures_are_preserved(engine):
    p, array = tf.placeholder(tf.bool, []), tf.TensorArray(tf.float32, 2).write(0, [1.0])

    def branch(k):
        sparse = tf.SparseTensor([[0, k]], [k + 1.5], [2, 3])
        return {"a": [k, (tf.constant(b"s%d" % k),)], "b": Pair(array.write(1, [k * 2.0]), sparse)}

    y = tf.cond(p, lambda: branch(1), lambda: branch(2))
    assert type(y["b"]) is Pair and type(y["a"][1]) is tuple
    assert isinstance(y["b"].first, tf.TensorArray) and isinstance(y["b"].second, tf.SparseTensor)
    a, s, sparse, rows = run([y["a"][0], y["a"][1][0], y["b"].second, y["b"].first.stack()], {p: False})
    assert (a, s) == (2, b"s2")
    assert sparse.indices.tolist() == [[0, 2]] and sparse.values.tolist() == [3.5]
    np.testing.assert_array_equal(rows, [[1.0], [4.0]])


def test_a_list_of_one_is_unwrapped_unless_strict():
    p = tf.constant(True)
    assert isinstance(tf.cond(p, lambda: [tf.constant(1)], lambda: [tf.constant(2)]), tf.Tensor)
    strict = tf.cond(p, lambda: [tf.constant(1)], lambda: [tf.constant(2)], strict=True)
    assert isinstance(strict, list) and isinstance(strict[0], tf.Tensor)


def test_static_shape_is_common_to_both_branches():
    p = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [None, 3])
    assert tf.cond(p, lambda: tf.ones([2, 3]), lambda: x).shape.as_list() == [None, 3]
    assert tf.cond(p, lambda: tf.ones([2, 3]), lambda: tf.zeros([2, 3])).shape.as_list() == [2, 3]
    assert tf.cond(p, lambda: tf.ones([2, 3]), lambda: tf.ones([3])).shape.ndims is None


def test_nested_cond(engine):
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.cond(q, lambda: 1, lambda: 2), lambda: tf.cond(q, lambda: 3, lambda: 4))
    assert [int(run(y, {p: a, q: b})) for a in (True, False) for b in (True, False)] == [1, 2, 3, 4]


# -- effects ----------------------------------------------------------------------------------------------------------


def test_operations_of_a_branch_run_only_if_it_is_taken(engine):
    p, v, w = tf.placeholder(tf.bool, []), variable(0), variable(0, "w")
    y = tf.cond(p, lambda: v.assign_add(1), lambda: w.assign_add(10))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in (True, True, False):
            session.run(y, {p: value})
        assert session.run([v, w]) == [2, 10]


def test_operations_created_before_run_in_any_case(engine):
    p, v = tf.placeholder(tf.bool, []), variable(1.0)
    outside = v.assign_add(10.0)
    y = tf.cond(p, lambda: tf.identity(outside), lambda: tf.constant(0.0))
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(y, {p: False}) == 0.0
        assert session.run(v) == 11.0


def test_operations_as_results(engine):
    p, v = tf.placeholder(tf.bool, []), variable(0)
    done = tf.cond(p, lambda: v.assign(7).op, tf.no_op)
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(done, {p: False})
        assert session.run(v) == 0
        session.run(done, {p: True})
        assert session.run(v) == 7


def test_order_across_contexts(engine):
    """An assignment before a conditional, one in it, and one after it happen in this order."""
    v = variable(1.0)
    p = tf.placeholder(tf.bool, [])
    with tf.control_dependencies([v.assign(v * 2.0)]):

        def branch():
            with tf.control_dependencies([v.assign(v + 10.0)]):
                return v.read_value()

        inner = tf.cond(p, branch, lambda: v.read_value())
    with tf.control_dependencies([inner]), tf.control_dependencies([v.assign(v * 3.0)]):
        after = v.read_value()
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([inner, after], {p: True}) == [12.0, 36.0]
        session.run(v.initializer)
        assert session.run([inner, after], {p: False}) == [2.0, 6.0]


def test_python_functions_and_assertions_in_branches(engine):
    p, seen = tf.placeholder(tf.bool, []), []

    def note(x):
        seen.append(float(x))
        return np.float32(x * 2)

    def checked():
        with tf.control_dependencies([tf.Assert(False, ["never mind"])]):
            return tf.constant(0.0)

    y = tf.cond(p, lambda: tf.py_func(note, [3.0], tf.float32), checked)
    assert run(y, {p: True}) == 6.0 and seen == [3.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="never mind"):
        run(y, {p: False})
    assert seen == [3.0]


def test_print_in_a_branch(engine, capfd):
    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.Print(tf.constant(1), [tf.constant(5)], "taken: "), lambda: tf.constant(2))
    run(y, {p: False})
    assert "taken" not in capfd.readouterr().err
    run(y, {p: True})
    assert "taken: [5]" in capfd.readouterr().err


def test_value_of_a_branch_that_was_not_taken_cannot_be_fetched(engine):
    p, inside = tf.placeholder(tf.bool, []), []

    def branch():
        inside.append(tf.constant(1.0) + 1.0)
        return inside[0]

    tf.cond(p, branch, lambda: tf.constant(0.0))
    assert run(inside[0], {p: True}) == 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="branch that was not taken"):
        run(inside[0], {p: False})


def test_error_in_the_branch_that_is_taken(engine):
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [None])
    y = tf.cond(p, lambda: x, lambda: tf.reshape(x, [7], name="wrong"))
    assert run(y, {p: True, x: [1.0, 2.0]}).tolist() == [1.0, 2.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"cond/wrong(?s:.)*test_cond.py"):
        run(y, {p: False, x: [1.0, 2.0]})


# -- gradients --------------------------------------------------------------------------------------------------------


def test_gradients_of_both_branches(engine):
    p, x, y = tf.placeholder(tf.bool, []), tf.constant([1.0, 2.0]), tf.constant(3.0)
    z = tf.cond(p, lambda: x * y, lambda: tf.square(x))
    gx, gy = tf.gradients(z, [x, y])
    np.testing.assert_array_equal(run(gx, {p: True}), [3, 3])
    np.testing.assert_array_equal(run(gx, {p: False}), [2, 4])
    assert run(gy, {p: True}) == 3.0 and run(gy, {p: False}) == 0.0


def test_gradients_of_variables_and_embeddings(engine):
    p, v = tf.placeholder(tf.bool, []), variable(np.float32([1, 2]))
    table = variable(np.arange(12, dtype=np.float32).reshape(4, 3), "table")
    y = tf.cond(p, lambda: tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 1, 3])), lambda: tf.reduce_sum(v * v))
    gv, gt = tf.gradients(y, [v, table])
    assert isinstance(gt, tf.IndexedSlices)
    taken, not_taken = run([gv, gt], {p: True}), run([gv, gt], {p: False})
    np.testing.assert_array_equal(taken[0], [0, 0])
    assert taken[1].indices.tolist() == [1, 1, 3] and taken[1].values.tolist() == [[1.0] * 3] * 3
    np.testing.assert_array_equal(not_taken[0], [2, 4])
    assert not_taken[1].values.shape[0] == 0


def test_second_order(engine):
    p, x = tf.placeholder(tf.bool, []), tf.constant([0.5, 1.5])
    y = tf.cond(p, lambda: x**3, lambda: tf.sin(x))
    (g,) = tf.gradients(y, x)
    (h,) = tf.gradients(g, x)
    np.testing.assert_allclose(run(h, {p: True}), [3, 9], rtol=1e-6)
    np.testing.assert_allclose(run(h, {p: False}), -np.sin([0.5, 1.5]), rtol=1e-6)


def test_gradients_inside_a_branch(engine):
    p, x = tf.placeholder(tf.bool, []), tf.constant(2.0)
    y = tf.cond(p, lambda: tf.gradients(x**3, x)[0], lambda: tf.constant(0.0))
    assert run(y, {p: True}) == 12.0 and run(y, {p: False}) == 0.0


# -- case and switch_case ---------------------------------------------------------------------------------------------


def test_case_selects_the_first_true_predicate(engine):
    a, b = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    y = tf.case([(a, lambda: tf.constant(1)), (b, lambda: tf.constant(2))], default=lambda: tf.constant(3))
    found = [int(run(y, {a: p, b: q})) for p in (True, False) for q in (True, False)]
    assert found == [1, 1, 2, 3]


def test_case_is_exclusive(engine):
    a, b = tf.placeholder(tf.bool, [], name="a"), tf.placeholder(tf.bool, [], name="b")
    pairs = {a: lambda: tf.constant(1), b: lambda: tf.constant(2)}
    y = tf.case(pairs, default=lambda: tf.constant(3), exclusive=True)
    assert run(y, {a: False, b: True}) == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"exclusive.*more than 1.*a:0, b:0"):
        run(y, {a: True, b: True})


def test_case_without_default(engine):
    a, b = tf.placeholder(tf.bool, [], name="a"), tf.placeholder(tf.bool, [], name="b")
    y = tf.case([(a, lambda: tf.constant(1)), (b, lambda: tf.constant(2))])
    assert run(y, {a: False, b: True}) == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"no default.*a:0, b:0"):
        run(y, {a: False, b: False})


def test_switch_case(engine):
    i, calls = tf.placeholder(tf.int32, []), [lambda k=k: tf.constant(10 * k) for k in range(5)]
    last = tf.switch_case(i, calls)
    other = tf.switch_case(i, dict(enumerate(calls)), default=lambda: tf.constant(-1))
    assert [int(run(last, {i: k})) for k in (-1, 0, 3, 4, 5)] == [40, 0, 30, 40, 40]
    assert [int(run(other, {i: k})) for k in (-1, 0, 3, 4, 5)] == [-1, 0, 30, 40, -1]


# -- scopes and graphs ------------------------------------------------------------------------------------------------


def test_scopes_and_devices_apply_inside():
    with tf.name_scope("outer"), tf.device("/cpu:0"), tf.variable_scope("vs"):

        def branch():
            return tf.get_variable("w", initializer=tf.zeros_initializer(), shape=[2]) + 1.0

        y = tf.cond(tf.constant(True), branch, lambda: tf.zeros([2], name="nothing"), name="choice")
    assert y.name == "outer/vs/choice/Merge:0"
    assert [v.name for v in tf.global_variables()] == ["vs/w:0"]
    names = {op.name: op.device for op in tf.get_default_graph().get_operations()}
    assert names["outer/vs/choice/nothing"] == "/device:CPU:0"
    np.testing.assert_array_equal(run(y), [1, 1])


def test_graph_def_round_trip(engine):
    with tf.Graph().as_default() as graph:
        p, x = tf.placeholder(tf.bool, [], name="p"), tf.placeholder(tf.float32, [], name="x")
        y = tf.cond(p, lambda: x * x, lambda: tf.cond(x > 1.0, lambda: -x, lambda: x))
        tf.identity(tf.gradients(y, x)[0], name="g")
    (g,) = tf.import_graph_def(graph.as_graph_def(), return_elements=["g:0"])
    for p, x, wanted in ((True, 3.0, 6.0), (False, 3.0, -1.0), (False, 0.5, 1.0)):
        assert run(g, {"import/p:0": p, "import/x:0": x}) == wanted


# -- errors -----------------------------------------------------------------------------------------------------------


def one():
    return tf.constant(1)


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ((True, one, one), TypeError, "Python bool"),
        ((lambda: tf.constant(1), one, one), TypeError, "bool, but .*int32"),
        ((lambda: tf.constant([True, False]), one, one), ValueError, r"scalar, but .*\(2,\)"),
        ((lambda: tf.constant(True), None, one), TypeError, "true_fn must be callable"),
        ((lambda: tf.constant(True), one, 3), TypeError, "false_fn must be callable"),
        ((lambda: tf.constant(True), one, lambda: None), ValueError, "false_fn of cond returns None"),
        ((lambda: tf.constant(True), one, lambda: tf.constant(1.0)), ValueError, "the same type: int32, float32"),
        ((lambda: tf.constant(True), one, lambda: [one(), one()]), ValueError, "structure: one value and list of 2"),
        ((lambda: tf.constant(True), lambda: {"a": one()}, lambda: {"b": one()}), ValueError, "dict of .*'a'.*'b'"),
        ((lambda: tf.constant(True), lambda: (one(),) * 2, lambda: [one()] * 2), TypeError, "tuple of 2 and list of 2"),
    ],
)
def test_cond_rejects_invalid_arguments(arguments, kind, words):
    pred, *functions = arguments
    with pytest.raises(kind, match=words):
        tf.cond(pred() if callable(pred) else pred, *functions)


def test_cond_rejects_both_names_of_an_argument():
    with pytest.raises(TypeError, match="true_fn and fn1"):
        tf.cond(tf.constant(True), one, one, fn1=one)


@pytest.mark.parametrize(
    ("pairs", "kind", "words"),
    [
        (lambda: tf.constant(True), TypeError, "list, a tuple or a dict"),
        (lambda: [], ValueError, "requires at least one pair"),
        (lambda: [(tf.constant(True), one, one)], TypeError, "pairs of a predicate and a function"),
        (lambda: [(tf.constant(1), one)], TypeError, "bool tensor"),
        (lambda: [(tf.constant(True, name="p"), tf.constant(1))], TypeError, "'p:0' of case is not callable"),
    ],
)
def test_case_rejects_invalid_arguments(pairs, kind, words):
    with pytest.raises(kind, match=words):
        tf.case(pairs(), default=one)


@pytest.mark.parametrize(
    ("index", "functions", "kind", "words"),
    [
        (1, [one], TypeError, "int32 tensor, not 1"),
        (1.0, [one], TypeError, "int32 tensor"),
        (None, [], ValueError, "no functions"),
        (None, one, TypeError, "dict, a list or a tuple"),
        (None, {"a": one}, TypeError, "pairs of an int"),
        (None, {1: one, 2: one}, ValueError, r"indices 0 to 1, not \[1, 2\]"),
        (None, [(0, one), (0, one)], ValueError, r"not \[0, 0\]"),
    ],
)
def test_switch_case_rejects_invalid_arguments(index, functions, kind, words):
    with pytest.raises(kind, match=words):
        tf.switch_case(tf.constant(0) if index is None else index, functions)
