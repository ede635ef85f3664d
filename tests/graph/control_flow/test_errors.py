"""Errors in conditionals and loops: each message is one sentence that names what is wrong."""

import numpy as np
import pytest

import thalweg as tf


def true():
    return tf.constant(True)


def one():
    return tf.constant(1.0, name="one")


def two():
    return tf.constant(2, name="two")


def loop(body, *more, **options):
    """Builds a loop over a counter and a matrix called rows."""
    variables = [tf.constant(0, name="count"), tf.ones([2, 3], name="rows"), *more]
    return tf.while_loop(lambda i, *_: i < 5, body, variables, **options)


def array():
    return tf.TensorArray(tf.float32, 3, name="notes")


BRANCHES = {
    "types": (
        lambda: tf.cond(true(), one, two),
        "the same type: float32, int32 .of 'cond/one:0' and 'cond/two:0'",
    ),
    "lengths": (
        lambda: tf.cond(true(), lambda: (one(), one()), lambda: (one(), one(), one())),
        r"the same nested structure: tuple of 2 and tuple of 3: \(cond/one:0, cond/one_1:0\) and \(cond/one_2:0, .*\)$",
    ),
    "sequences": (
        lambda: tf.cond(true(), lambda: (one(), one()), lambda: [one(), one()]),
        r"the same nested structure: tuple of 2 and list of 2: \(.*\) and \[.*\]$",
    ),
    "keys": (
        lambda: tf.cond(true(), lambda: {"a": one()}, lambda: {"b": one()}),
        r"the same nested structure: .*: \{'a': cond/one:0\} and \{'b': cond/one_1:0\}$",
    ),
    "depths": (
        lambda: tf.cond(true(), lambda: {"a": [one(), [one()]]}, lambda: {"a": [one(), one()]}),
        r"the same nested structure: .*: \{'a': \[.*, \[.*\]\]\} and \{'a': \[.*, .*\]\}$",
    ),
    "nothing": (lambda: tf.cond(true(), one, lambda: None), "false_fn of cond returns None"),
    "operation": (
        lambda: tf.cond(true(), one, tf.no_op),
        "the same type: float32, bool .of 'cond/one:0'",
    ),
    "number": (lambda: tf.cond(one(), one, one), "pred of cond must be a bool, but 'one:0' is float32"),
    "vector": (lambda: tf.cond(tf.fill([2], True), one, one), r"pred of cond must be a scalar, but .* \(2,\)"),
    "python": (lambda: tf.cond(True, one, one), "pred is a Python bool"),
    "case": (lambda: tf.case([(true(), one), (true(), two)], default=one), "must have the same type"),
    "switch": (lambda: tf.switch_case(tf.constant(1.0), [one]), "branch_index of switch_case must be an int32 tensor"),
}

LOOPS = {
    "no variables": (lambda: tf.while_loop(lambda: True, lambda: [], []), "No loop variables provided"),
    "missing": (
        lambda: loop(lambda i, x: [i + 1]),
        r"body of the while loop 'while' must return 2 loop variables .*: \[count:0, rows:0\], not \[while/add:0\]; "
        r"there is no new value of rows:0$",
    ),
    "missing with a limit": (
        lambda: loop(lambda i, x: [i + 1], maximum_iterations=3),
        r"2 loop variables .*: \[count:0, rows:0\], not \[while/add\w*:0\]; there is no new value of rows:0$",
    ),
    "too many": (
        lambda: loop(lambda i, x: (i, x, x)),
        r"2 loop variables of the same structure: .*, not \[.*, .*, .*\]$",
    ),
    "keys": (
        lambda: loop(lambda i, x, d: (i, x, {"b": d["a"]}), {"a": one()}),
        r"3 loop variables of the same structure: .*\{'a': one:0\}\], not .*\{'b': .*\}\]$",
    ),
    "depth": (lambda: loop(lambda i, x: (i, [x])), r"the same structure: \[count:0, rows:0\], not \[.*, \[.*\]\]$"),
    "nothing": (lambda: loop(lambda i, x: None), r"the same structure: .*, not \[None\]"),
    "nothing for one": (
        lambda: loop(lambda i, x: (i, None)),
        "body of the while loop 'while' returns None for loop variable 1, 'rows:0'",
    ),
    "none at first": (lambda: loop(lambda i, x, n: (i, x, n), None), r"None cannot be a loop variable.*None\]$"),
    "type": (
        lambda: loop(lambda i, x: (i, tf.cast(x, tf.int32))),
        "Loop variable 1, 'rows:0', enters the loop 'while' as float32 and becomes int32",
    ),
    "type with a limit": (
        lambda: loop(lambda i, x: [i, tf.cast(x, tf.int32)], maximum_iterations=3),
        "Loop variable 1, 'rows:0', enters the loop 'while' as float32 and becomes int32",
    ),
    "shape": (
        lambda: loop(lambda i, x: (i, x[:1]), name="shrinking"),
        r"'rows:0' enters .* with shape \(2, 3\), but has shape \(1, 3\).*variable 1 of 'shrinking'",
    ),
    "rank": (lambda: loop(lambda i, x: (i, x[0])), r"'rows:0' .* with shape \(2, 3\), but has shape \(3,\)"),
    "unknown shape": (
        lambda: loop(lambda i, x: (i, tf.placeholder(tf.float32))),
        r"'rows:0' .* with shape \(2, 3\), but has shape <unknown>",
    ),
    "shape inside": (
        lambda: loop(lambda i, x, d: (i, x, {"a": tf.ones([2])}), {"a": one()}),
        r"'one:0' .* with shape \(\), but has shape \(2,\).*variable 2",
    ),
    "array for a tensor": (
        lambda: loop(lambda i, x: (i, array())),
        "Loop variable 1, 'rows:0', .* as a tensor and becomes a TensorArray",
    ),
    "tensor for an array": (
        lambda: loop(lambda i, x, a: (i, x, one()), array()),
        "Loop variable 2, 'notes:1', .* as a TensorArray and becomes a tensor",
    ),
    "invariant": (
        lambda: loop(lambda i, x: (i, x), shape_invariants=[tf.TensorShape([]), tf.TensorShape([4, 3])]),
        r"shape invariant \[4, 3\] of loop variable 1, 'rows:0', does not hold for its initial value, .* \[2, 3\]",
    ),
    "invariants": (
        lambda: loop(lambda i, x: (i, x), shape_invariants=[tf.TensorShape([])]),
        r"shape_invariants must have the structure of loop_vars, \[count:0, rows:0\], not",
    ),
    "invariants by keys": (
        lambda: tf.while_loop(
            lambda d: True, lambda d: d, [{"a": one()}], shape_invariants=[{"b": tf.TensorShape([])}]
        ),
        r"shape_invariants must have the structure of loop_vars, \{'a': one:0\}, not \{'b':",
    ),
    "parameters of the body": (
        lambda: loop(lambda i: i),
        r"body .* the 2 loop variables, but its parameters are \(i\)",
    ),
    "parameters of the condition": (
        lambda: tf.while_loop(lambda a, b, c: a, lambda a, b: (a, b), [1, 2]),
        r"cond .* the 2 loop variables, but its parameters are \(a, b, c\)",
    ),
    "condition": (lambda: tf.while_loop(lambda i: i, lambda i: i, [two()]), "must be a scalar bool, but .* is int32"),
    "limit": (lambda: loop(lambda i, x: (i, x), maximum_iterations=[1, 2]), "maximum_iterations .* scalar"),
    "limit of another type": (lambda: loop(lambda i, x: (i, x), maximum_iterations=2.5), "[Ee]xpected int32, .*2.5"),
    "mapped type": (
        lambda: tf.map_fn(lambda e: tf.cast(e, tf.int32), tf.ones([2])),
        "fn of map_fn returns 'map/while/Cast:0', int32, where float32 is expected",
    ),
    "mapped structure": (
        lambda: tf.map_fn(lambda e: (e, e), tf.ones([2])),
        r"elems, or else dtype, must have the structure that fn of map_fn returns: .* is not \(.*, .*\)$",
    ),
    "scanned structure": (
        lambda: tf.scan(lambda a, e: (a, e), tf.ones([2])),
        r"fn of scan must return the structure of its first argument, .*, not \(.*, .*\)$",
    ),
}


@pytest.mark.parametrize("mistake", [f"cond {name}" for name in BRANCHES] + [f"loop {name}" for name in LOOPS])
def test_errors_are_one_sentence(mistake):
    where, _, name = mistake.partition(" ")
    build, words = (BRANCHES if where == "cond" else LOOPS)[name]
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        build()
    text = str(caught.value)
    assert "\n" not in text and len(text) < 300
    assert "tf.Tensor" not in text and "while_context/" not in words


def test_exceptions_of_a_body_are_passed_on():
    def body(i):
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        tf.while_loop(lambda i: i < 3, body, [0])
    with pytest.raises(KeyError, match="lost"):
        tf.cond(true(), lambda: body(0), one)
    assert tf.get_default_graph()._get_control_flow_context() is None  # what comes next is outside again
    with tf.Session() as session:
        assert session.run(one() + 1.0) == 2.0


def test_no_gradient_without_back_prop():
    x = tf.Variable(2.0)
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, one()], back_prop=False)[1]
    with pytest.warns(UserWarning, match="through the while loop 'while': it was created with back_prop=False"):
        assert tf.gradients(y, x) == [None]
    with pytest.warns(UserWarning, match="through the while loop 'map/while': it was created with back_prop=False"):
        assert tf.gradients(tf.map_fn(lambda e: e * x, tf.ones([2]), back_prop=False), x) == [None]
    with pytest.raises(ValueError, match=r"[Nn]o gradient"), pytest.warns(UserWarning, match="back_prop=False"):
        tf.train.GradientDescentOptimizer(0.1).minimize(y)


# -- in a step --------------------------------------------------------------------------------------------------------


def failing(fetch, kind, words, feeds=None):
    with tf.Session() as session, pytest.raises(kind, match=words):
        session.run(fetch, feeds)


@pytest.mark.parametrize("build", ["cond", "while", "limited"])
def test_predicate_that_is_not_a_scalar(engine, build):
    p = tf.placeholder(tf.bool, name="p")
    if build == "cond":
        y = tf.cond(p, one, one)
    else:
        y = tf.while_loop(lambda i: p, lambda i: i + 1, [0], maximum_iterations=3 if build == "limited" else None)
    failing(y, tf.errors.InvalidArgumentError, r"EnsureShape(?s:.)*\[2\](?s:.)*test_errors.py", {p: [True, False]})


@pytest.mark.parametrize("build", ["cond", "while"])
def test_imported_predicate_that_is_not_a_scalar(engine, build):
    with tf.Graph().as_default() as graph:
        p = tf.placeholder(tf.bool, name="p")
        if build == "cond":
            tf.identity(tf.cond(p, lambda: one() * 2, one), name="y")
        else:
            tf.identity(tf.while_loop(lambda i: p, lambda i: i + 1, [0]), name="y")
    definition = graph.as_graph_def()
    for node in definition.node:
        if node.op == "EnsureShape":  # which no graph of TensorFlow has
            node.op = "Identity"
            del node.attr["shape"]
    tf.import_graph_def(definition, name="")
    failing("y:0", tf.errors.InvalidArgumentError, "(predicate|pred|condition) is not a scalar", {"p:0": [True, False]})


def test_error_in_an_inner_loop(engine):
    def inner(i):
        return tf.while_loop(
            lambda j: j < 3, lambda j: tf.reshape(tf.fill([j + 1], j + 1), [], name="wrong"), [i], name="inner"
        )

    y = tf.while_loop(lambda i: i < 3, inner, [0], name="outer")
    failing(y, tf.errors.InvalidArgumentError, r"'outer/inner/wrong'(?s:.)*2 values(?s:.)*test_errors.py")


def test_error_in_a_later_iteration(engine):
    rows = tf.constant([10, 20, 30])
    y = tf.while_loop(lambda i, t: i < 5, lambda i, t: (i + 1, t + tf.gather(rows, i, name="row")), (0, 0))
    failing(y, tf.errors.InvalidArgumentError, r"'while/row'.*3 is not in \[0, 3\)(?s:.)*test_errors.py")


def test_python_error_in_a_body(engine):
    def call(i):
        if i == 2:
            raise ZeroDivisionError("two is too much")
        return np.int32(i)

    y = tf.while_loop(lambda i: i < 5, lambda i: tf.reshape(tf.py_func(call, [i], tf.int32, name="call"), []) + 1, [0])
    failing(y, tf.errors.UnknownError, r"'while/call'.*ZeroDivisionError: two is too much")


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
def test_error_in_the_gradient_of_a_loop(engine):
    seven = tf.placeholder_with_default(7, [])

    @tf.custom_gradient
    def strange(x):
        return x * 2.0, lambda dy: tf.gather(tf.stack([dy, dy]), seven, name="wrong")

    x = one()
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, strange(y)), (0, x))[1]
    failing(tf.gradients(y, x), tf.errors.InvalidArgumentError, r"grad/wrong.* 7 is not in \[0, 2\)")


def test_tensor_array_index_out_of_range(engine):
    y = tf.while_loop(lambda i, _: i < 5, lambda i, a: (i + 1, a.write(i, 1.0)), (0, array()))[1].stack()
    failing(
        y,
        tf.errors.InvalidArgumentError,
        r"TensorArray notes: Tried to write to index 3 but array is not resizeable and size is: 3",
    )


def test_a_switch_of_a_reference_is_named_if_its_predicate_is_not_a_scalar():
    variable = tf.Variable([1.0, 2.0], use_resource=False)
    predicate = tf.placeholder(tf.bool)
    _, taken = tf.raw_ops.RefSwitch(data=variable._ref(), pred=predicate, name="choose")
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run(taken, {predicate: True}).tolist() == [1.0, 2.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"'choose' on .*: the predicate is not a scalar"):
            session.run(taken, {predicate: [True, True]})
