"""Programs of loops, conditionals and arrays together: small algorithms, structures, effects, waiting, errors."""

import collections

import numpy as np

Pair = collections.namedtuple("Pair", "left right")


def _variable(tf, name, value):
    with tf.variable_scope("v", reuse=tf.AUTO_REUSE, use_resource=True):
        return tf.get_variable(name, initializer=value)


def _run(tf, *fetches):
    """Returns the values of fetches, each by a step of its own, in order."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(fetch) for fetch in fetches]


# -- small algorithms --------------------------------------------------------------------------------------------------


def fibonacci(tf):
    n = tf.placeholder_with_default(np.int64(30), [])
    start = (tf.constant(0, tf.int64), tf.constant(0, tf.int64), tf.constant(1, tf.int64))
    return tf.while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, b, a + b), start)[1]


def greatest_common_divisors(tf):
    a, b = tf.constant([12, 35, 81, 7, 0]), tf.constant([18, 14, 27, 13, 5])

    def body(a, b):
        rest = tf.where(b > 0, a % tf.maximum(b, 1), tf.zeros_like(b))
        return tf.where(b > 0, b, a), rest

    return tf.while_loop(lambda a, b: tf.reduce_any(b > 0), body, (a, b))


def collatz(tf):
    def steps(n):
        def body(n, count):
            return tf.cond(tf.equal(n % 2, 0), lambda: n // 2, lambda: 3 * n + 1), count + 1

        return tf.while_loop(lambda n, _: n > 1, body, (n, tf.constant(0)))[1]

    return tf.map_fn(steps, tf.constant([1, 2, 7, 9, 27, 97]))


def square_roots(tf):
    x = tf.constant([2.0, 9.0, 0.25, 1e6], tf.float64)

    def body(y, _, count):
        after = 0.5 * (y + x / y)
        return after, tf.reduce_max(tf.abs(after - y)), count + 1

    start = (tf.ones_like(x), tf.constant(1.0, tf.float64), tf.constant(0))
    return tf.while_loop(lambda y, change, _: change > 1e-10, body, start)


def sieve(tf):
    def body(i, prime):
        multiple = tf.equal(tf.range(50) % i, 0) & (tf.range(50) > i)
        return i + 1, tf.cond(prime[i], lambda: prime & ~multiple, lambda: prime)

    prime = tf.while_loop(lambda i, _: i * i < 50, body, (tf.constant(2), tf.range(50) > 1))[1]
    return tf.where(prime)


def bubbles(tf):
    x = tf.constant([5, 3, 9, 1, 7, 2])

    def swapped(x, j):
        order = tf.concat([tf.range(j), [j + 1, j], tf.range(j + 2, 6)], 0)
        ordered = tf.cond(x[j] > x[j + 1], lambda: tf.gather(x, order), lambda: x)
        ordered.set_shape([6])
        return ordered

    def body(i, x):
        return i + 1, tf.while_loop(lambda j, x: j < 5 - i, lambda j, x: (j + 1, swapped(x, j)), (0, x))[1]

    return tf.while_loop(lambda i, _: i < 6, body, (0, x))[1]


def binary_search(tf):
    table = tf.constant([1, 3, 4, 8, 12, 20, 33])

    def find(wanted):
        def body(low, high):
            middle = (low + high) // 2
            return tf.cond(table[middle] < wanted, lambda: (middle + 1, high), lambda: (low, middle))

        return tf.while_loop(lambda low, high: low < high, body, (tf.constant(0), tf.size(table)))[0]

    return tf.map_fn(find, tf.constant([0, 1, 5, 20, 40]))


def power_by_squares(tf):
    base = tf.constant([[1.0, 1.0], [1.0, 0.0]], tf.float64)

    def body(n, base, result):
        result = tf.cond(tf.equal(n % 2, 1), lambda: tf.matmul(result, base), lambda: result)
        return n // 2, tf.matmul(base, base), result

    start = (tf.constant(21), base, tf.eye(2, dtype=tf.float64))
    return tf.while_loop(lambda n, *_: n > 0, body, start)[2]


def forward_substitution(tf):
    lower = tf.constant(np.tril(np.arange(1.0, 17.0).reshape(4, 4) + 3.0))
    b = tf.constant([1.0, 2.0, 3.0, 4.0], tf.float64)

    def body(i, x):
        value = (b[i] - tf.reduce_sum(lower[i] * x)) / lower[i, i]
        return i + 1, x + value * tf.one_hot(i, 4, dtype=tf.float64)

    return tf.while_loop(lambda i, _: i < 4, body, (0, tf.zeros([4], tf.float64)))[1]


def running_extremes(tf):
    x = tf.constant([3, 1, 4, 1, 5, 9, 2])
    return tf.scan(tf.maximum, x), tf.scan(tf.minimum, x, reverse=True), tf.scan(lambda a, e: a + e, x, initializer=10)


def text_is_written(tf):
    def body(i, text):
        part = tf.cond(i > 0, lambda: tf.string_join([",", tf.as_string(i)]), lambda: tf.as_string(i))
        return i + 1, tf.string_join([text, part])

    return tf.while_loop(lambda i, _: i < 5, body, (0, tf.constant("")))[1]


def text_is_reversed(tf):
    text = tf.constant("thalweg")
    n = tf.strings.length(text)
    return tf.while_loop(
        lambda i, _: i < n, lambda i, out: (i + 1, tf.string_join([tf.substr(text, i, 1), out])), (0, tf.constant(""))
    )[1]


def lists_of_texts(tf):
    return tf.while_loop(
        lambda words: tf.size(words) < 6,
        lambda words: tf.concat([words, words[-1:]], 0),
        [tf.constant(["a", "b"])],
        shape_invariants=[tf.TensorShape([None])],
    )


def pascal(tf):
    def row(i, last, rows):
        following = tf.concat([[1], last[1:] + last[:-1], [1]], 0)
        return i + 1, following, rows.write(i, following)

    rows = tf.TensorArray(tf.int32, 5, infer_shape=False)
    last, rows = tf.while_loop(
        lambda i, *_: i < 5,
        row,
        (0, tf.constant([1]), rows),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None]), tf.TensorShape(None)),
    )[1:]
    return last, rows.concat(), rows.read(3)


# -- structures and shapes ---------------------------------------------------------------------------------------------


def structure_of_everything(tf):
    arrays = [tf.TensorArray(tf.float32, 3, name=f"a{k}") for k in range(2)]
    start = Pair({"i": tf.constant(0), "x": (tf.constant(1.0), [tf.constant([1.0, 2.0])])}, arrays)

    def body(left, right):
        i, (x, (y,)) = left["i"], left["x"]
        written = [right[0].write(i, x), right[1].write(i, tf.reduce_sum(y))]
        return Pair({"i": i + 1, "x": (x * 2.0, [y + x])}, written)

    left, right = tf.while_loop(lambda left, right: left["i"] < 3, body, start)
    return left, [array.stack() for array in right]


def same_structure_of_a_dict(tf):
    results = []
    for same in (True, False):
        result = tf.while_loop(
            lambda d: d["i"] < 3, lambda d: [{"i": d["i"] + 1}], [{"i": tf.constant(0)}], return_same_structure=same
        )
        results.append([type(result).__name__, result])
    return results


def same_structure_with_a_limit(tf):
    return tf.while_loop(
        lambda i, x: i < 9,
        lambda i, x: [i + 1, x * 2.0],
        [tf.constant(0), tf.constant(1.0)],
        maximum_iterations=4,
        return_same_structure=True,
    )


def limits_in_nested_loops(tf):
    def body(i, total):
        inner = tf.while_loop(
            lambda j, t: t < 100, lambda j, t: [j + 1, t + j], [tf.constant(1), total], maximum_iterations=i
        )
        return [i + 1, inner[1]]

    return tf.while_loop(lambda i, t: True, body, [tf.constant(0), tf.constant(0)], maximum_iterations=7)


def limit_of_zero(tf):
    return tf.while_loop(lambda i: True, lambda i: i + 1, [tf.constant(3)], maximum_iterations=0)


def limit_below_zero(tf):
    return tf.while_loop(lambda i: True, lambda i: i + 1, [tf.constant(3)], maximum_iterations=-2)


def shapes_are_kept_by_set_shape(tf):
    p = tf.placeholder_with_default(np.ones((2, 3), np.float32), None)

    def body(i, x):
        y = x + p
        y.set_shape([2, 3])
        return i + 1, y

    return tf.while_loop(lambda i, _: i < 2, body, (0, tf.zeros([2, 3])))


def invariants_of_structures(tf):
    start = (tf.constant(0), {"rows": tf.ones([1, 2]), "last": (tf.ones([2]),)})
    known = (tf.TensorShape([]), {"rows": tf.TensorShape([None, 2]), "last": (tf.TensorShape([2]),)})

    def body(i, d):
        (last,) = d["last"]
        return i + 1, {"rows": tf.concat([d["rows"], [last * 2.0]], 0), "last": (last * 2.0,)}

    return tf.while_loop(lambda i, d: i < 3, body, start, shape_invariants=known)


def invariants_that_know_less(tf):
    known = [tf.TensorShape(None), tf.TensorShape([None, 2])]
    return tf.while_loop(
        lambda i, x: i < 2, lambda i, x: (i + 1, x * 2.0), [0, tf.ones([3, 2])], shape_invariants=known
    )


def invariants_in_nested_loops(tf):
    def inner(x):
        return tf.while_loop(
            lambda x: tf.size(x) < 7, lambda x: tf.concat([x, [1.0]], 0), [x], shape_invariants=[tf.TensorShape([None])]
        )

    return tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, inner(x[2:])),
        (0, tf.zeros([4])),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )


def sparse_tensors_are_doubled(tf):
    x = tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 3])
    r = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * tf.constant(2.0)), (tf.constant(0), x))[1]
    return type(r).__name__, tf.sparse_tensor_to_dense(r)


def sparse_tensors_are_added(tf):
    x = tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 3])
    y = tf.SparseTensor([[1, 1]], [5.0], [3, 3])

    def body(i, x):
        return i + 1, tf.cond(tf.equal(i, 1), lambda: tf.sparse_add(x, y), lambda: x)

    r = tf.while_loop(
        lambda i, x: i < 3,
        body,
        (tf.constant(0), x),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, None])),
    )[1]
    return tf.sparse_tensor_to_dense(r)


def sparse_tensor_from_outside(tf):
    x = tf.SparseTensor([[0, 1], [1, 0], [2, 2]], [1.0, 2.0, 3.0], [3, 3])
    y = tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, tf.sparse_tensor_dense_matmul(x, y)), (0, tf.ones([3, 2]))
    )[1]
    return y, tf.gradients(y, x.values)


def slices_are_scaled(tf):
    s = tf.IndexedSlices(tf.ones([2, 3]), tf.constant([4, 1]), tf.constant([6, 3]))
    r = tf.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, tf.IndexedSlices(s.values * 2.0, s.indices, s.dense_shape)),
        (tf.constant(0), s),
    )[1]
    return type(r).__name__, tf.convert_to_tensor(r)


# -- arrays ------------------------------------------------------------------------------------------------------------


def array_that_grows_in_jumps(tf):
    a = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[2])
    a = tf.while_loop(lambda i, _: i < 9, lambda i, a: (i * 2 + 1, a.write(i, tf.fill([2], 1.0))), (0, a))[1]
    return a.size(), a.stack()


def array_read_again_and_again(tf):
    a = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(tf.constant([1.0, 2.0, 4.0]))
    total = tf.while_loop(lambda i, _: i < 7, lambda i, t: (i + 1, t * 2.0 + a.read(i % 3)), (0, 0.0))[1]
    return total, a.stack()


def array_from_outside_is_read_inside(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    a = tf.TensorArray(tf.float32, 3).unstack(x)
    y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * a.read(i)), (0, tf.ones([2])))[1]
    return y, tf.gradients(y, x)


def array_written_in_a_branch(tf):
    def body(i, a):
        value = tf.cast(i, tf.float32)
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a.write(i, value), lambda: a.write(i, -value))

    return tf.while_loop(lambda i, _: i < 5, body, (0, tf.TensorArray(tf.float32, 5)))[1].stack()


def array_written_by_an_inner_loop(tf):
    def inner(i, a):
        return tf.while_loop(lambda j, _: j < 3, lambda j, a: (j + 1, a.write(3 * i + j, 10 * i + j)), (0, a))[1]

    a = tf.TensorArray(tf.int32, 6)
    return tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, inner(i, a)), (0, a))[1].stack()


def array_made_in_a_body(tf):
    def body(i, total):
        a = tf.TensorArray(tf.int32, i + 1)
        a = tf.while_loop(lambda j, _: j <= i, lambda j, a: (j + 1, a.write(j, j * j)), (0, a))[1]
        return i + 1, total + tf.reduce_sum(a.stack())

    return tf.while_loop(lambda i, _: i < 5, body, (0, 0))[1]


def array_of_one_loop_in_the_next(tf):
    a = tf.TensorArray(tf.float32, 4, clear_after_read=False)
    a = tf.while_loop(lambda i, _: i < 4, lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32) + 1.0)), (0, a))[1]
    b = tf.TensorArray(tf.float32, 4)
    b = tf.while_loop(lambda i, _: i < 4, lambda i, b: (i + 1, b.write(i, a.read(3 - i) * 2.0)), (0, b))[1]
    return b.stack()


def array_read_and_written_in_turn(tf):
    a = tf.TensorArray(tf.float32, 6, clear_after_read=False).write(0, 1.0).write(1, 1.0)
    a = tf.while_loop(
        lambda i, _: i < 6, lambda i, a: (i + 1, a.write(i, a.read(i - 1) + a.read(i - 2))), (tf.constant(2), a)
    )[1]
    return a.stack()


def arrays_scattered_and_gathered_in_a_loop(tf):
    def body(i, x):
        a = tf.TensorArray(tf.float32, 4).scatter([2, 0, 3, 1], x)
        return i + 1, tf.reshape(a.gather([0, 1, 2, 3]) + 1.0, [4, 1])

    return tf.while_loop(lambda i, _: i < 3, body, (0, tf.constant([[1.0], [2.0], [3.0], [4.0]])))[1]


def arrays_split_and_joined_in_a_loop(tf):
    def body(i, x):
        a = tf.TensorArray(tf.float32, 3, infer_shape=False).split(x, [1, i, 4 - i])
        return i + 1, tf.reshape(tf.concat([a.read(2), a.read(0), a.read(1)], 0), [5])

    return tf.while_loop(lambda i, _: i < 4, body, (0, tf.range(5.0)))[1]


def arrays_of_all_kinds(tf):
    kinds = {"string": ["a", "b"], "bool": [True, False], "int64": [3, 4], "complex64": [1j, 2.0]}
    results = []
    for kind, values in kinds.items():
        a = tf.TensorArray(tf.as_dtype(kind), 2)
        source = tf.constant(values, kind)
        a = tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, a.write(i, source[1 - i])), (0, a))[1]
        results.append(a.stack())
    return results


def array_shapes_after_a_loop(tf):
    p = tf.placeholder_with_default(np.ones((2, 3), np.float32), [None, 3])
    results = []
    for options in ({}, {"infer_shape": False}, {"element_shape": [None, 3]}, {"dynamic_size": True}):
        a = tf.TensorArray(tf.float32, 3, **options)
        a = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, p)), (0, a))[1]
        results.append(a.stack())
    return results


def array_read_twice_in_a_loop(tf):
    a = tf.TensorArray(tf.float32, 3).unstack(tf.constant([1.0, 2.0, 3.0]))
    return tf.while_loop(lambda i, _: i < 3, lambda i, t: (i + 1, t + a.read(0)), (0, 0.0))[1]


def array_read_before_writing_in_a_loop(tf):
    a = tf.TensorArray(tf.float32, 3, infer_shape=False)

    def body(i, a, t):
        a = a.write(i, 1.0)
        return i + 1, a, t + tf.reshape(a.read(i + 1), [])

    return tf.while_loop(lambda i, *_: i < 2, body, (0, a, 0.0))[2]


def array_written_past_its_end_in_a_loop(tf):
    a = tf.TensorArray(tf.float32, 3)
    return tf.while_loop(lambda i, _: i < 5, lambda i, a: (i + 1, a.write(i, 1.0)), (0, a))[1].stack()


def array_written_twice_in_a_loop(tf):
    a = tf.TensorArray(tf.float32, 3)
    return tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(0, 1.0)), (0, a))[1].stack()


def array_of_another_shape_in_a_loop(tf):
    a = tf.TensorArray(tf.float32, 3, element_shape=[2])
    return tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, [1.0, 2.0, 3.0])), (0, a))[1].stack()


# -- maps, folds and scans inside of each other ------------------------------------------------------------------------


def map_of_scan_of_fold(tf):
    x = tf.constant(np.arange(24.0).reshape(2, 3, 4))
    return tf.map_fn(lambda m: tf.scan(lambda a, row: a + tf.foldl(lambda s, e: s * 0.5 + e, row), m, 0.0), x)


def scan_of_a_choice(tf):
    x = tf.constant([1, 5, 2, 0, 7])
    double, add, zero = (lambda a, e: a * 2), (lambda a, e: a + e), (lambda a, e: tf.zeros_like(a))

    def step(a, e):
        return tf.switch_case(e % 3, [lambda: double(a, e), lambda: add(a, e), lambda: zero(a, e)])

    return tf.scan(step, x, initializer=3)


def map_of_cases(tf):
    def kind(x):
        return tf.case([(x < 0.0, lambda: tf.constant("below")), (x > 0.0, lambda: tf.constant("above"))], lambda: "at")

    return tf.map_fn(kind, tf.constant([-1.0, 0.0, 2.0]), dtype=tf.string)


def map_of_structures_inside_a_loop(tf):
    def body(i, x):
        a, b = tf.map_fn(lambda e: (e[0] + e[1], {"d": e[0] - e[1]}), (x, x * 2.0), (tf.float32, {"d": tf.float32}))
        return i + 1, a + b["d"]

    return tf.while_loop(lambda i, _: i < 3, body, (0, tf.constant([1.0, 2.0, 3.0])))[1]


def map_one_after_the_other(tf):
    v = _variable(tf, "v", 0)

    def note(x):
        with tf.control_dependencies([v.assign(v * 10 + x)]):
            return v.read_value()

    return _run(tf, tf.map_fn(note, tf.constant([1, 2, 3, 4]), parallel_iterations=1))


def folds_of_structures(tf):
    elements = (tf.constant([1.0, 2.0, 3.0]), tf.constant([[1, 2], [3, 4], [5, 6]]))

    def step(a, e):
        return {"sum": a["sum"] * 0.5 + e[0], "rows": a["rows"] * 2 + e[1]}

    start = {"sum": tf.constant(0.0), "rows": tf.zeros([2], tf.int32)}
    return tf.foldl(step, elements, start), tf.foldr(step, elements, start)


def scan_backwards_of_structures(tf):
    elements = {"a": tf.constant([1.0, 2.0, 3.0]), "b": tf.constant([4.0, 5.0, 6.0])}
    start = (tf.constant(0.0), tf.constant(1.0))
    return tf.scan(lambda s, e: (s[0] + e["a"], s[1] * e["b"]), elements, start, reverse=True, swap_memory=True)


def scan_without_elements(tf):
    x = tf.placeholder_with_default(np.zeros((0,), np.float32), [None])
    return tf.scan(lambda a, e: a + e, x, initializer=1.0)


def fold_of_a_scalar(tf):
    return tf.foldl(lambda a, e: a + e, tf.constant(1.0))


def scan_that_changes_its_type(tf):
    return tf.scan(lambda a, e: tf.cast(a, tf.float64), tf.constant([1.0, 2.0]))


def scan_that_changes_its_structure(tf):
    return tf.scan(lambda a, e: (a, e), tf.constant([1.0, 2.0]))


# -- effects and waiting -----------------------------------------------------------------------------------------------


def effects_of_a_branch_in_a_loop(tf):
    v, w = _variable(tf, "v", 0), _variable(tf, "w", 0)

    def body(i):
        done = tf.cond(tf.equal(i % 3, 0), lambda: v.assign_add(1), lambda: w.assign_add(10))
        with tf.control_dependencies([done]):
            return i + 1

    return _run(tf, tf.while_loop(lambda i: i < 8, body, [0]), v, w)


def effects_of_nested_loops(tf):
    v = _variable(tf, "v", 1)

    def inner(i):
        def body(j):
            with tf.control_dependencies([v.assign(v * 2 + j)]):
                return j + 1

        return tf.while_loop(lambda j: j < i, body, [0], parallel_iterations=1)

    def outer(i):
        with tf.control_dependencies([inner(i)]):
            return i + 1

    return _run(tf, tf.while_loop(lambda i: i < 4, outer, [0], parallel_iterations=1), v)


def rows_updated_in_a_loop(tf):
    v = _variable(tf, "v", np.zeros((4, 2), np.float32))

    def body(i):
        with tf.control_dependencies([tf.scatter_add(v, [i, (i + 1) % 4], tf.ones([2, 2]) * tf.cast(i, tf.float32))]):
            return i + 1

    return _run(tf, tf.while_loop(lambda i: i < 4, body, [0], parallel_iterations=1), v)


def conditions_are_asked_once_more(tf):
    v = _variable(tf, "v", 0)

    def more(i):
        with tf.control_dependencies([v.assign_add(1)]):
            return i < 4

    return _run(tf, tf.while_loop(more, lambda i: i + 1, [0]), v)


def condition_with_a_branch(tf):
    x = tf.constant([3, 0, 2])
    return tf.while_loop(
        lambda i, t: tf.cond(i < 3, lambda: x[i] > 0, lambda: False), lambda i, t: (i + 1, t + x[i]), (0, 0)
    )


def assigned_before_a_loop_once(tf):
    v = _variable(tf, "v", 1.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        total = tf.while_loop(
            lambda i, _: i < 3,
            lambda i, t: (i + 1, tf.cond(i > 0, lambda: t + v.read_value(), lambda: t)),
            (0, 0.0),
        )[1]
    return _run(tf, total, v, total, v)


def branch_waits_for_what_is_before(tf):
    v = _variable(tf, "v", 1.0)
    first = v.assign(5.0)

    def taken():
        with tf.control_dependencies([first]):
            return v.read_value() * 2.0

    return _run(tf, tf.cond(tf.constant(True), taken, lambda: tf.constant(0.0)), v)


def inner_loop_waits_for_the_outer_body(tf):
    v = _variable(tf, "v", 0)

    def outer(i, t):
        with tf.control_dependencies([v.assign_add(1)]):
            inner = tf.while_loop(lambda j, s: j < 2, lambda j, s: (j + 1, s + v.read_value()), (0, t))
        return i + 1, inner[1]

    return _run(tf, tf.while_loop(lambda i, _: i < 3, outer, (0, 0), parallel_iterations=1), v)


def what_follows_waits_for_a_branch(tf):
    v = _variable(tf, "v", 1.0)
    done = tf.cond(tf.constant(True), lambda: tf.group(v.assign(7.0)), tf.no_op)
    with tf.control_dependencies([done]):
        return _run(tf, v.read_value())


def group_of_effects_in_a_body(tf):
    v, w = _variable(tf, "v", 0), _variable(tf, "w", 0)

    def body(i):
        both = tf.group(v.assign_add(1), w.assign_add(2))
        return tf.tuple([i + 1], control_inputs=[both])[0]

    return _run(tf, tf.while_loop(lambda i: i < 3, body, [0]), v, w)


def queue_filled_and_emptied(tf):
    queue = tf.FIFOQueue(10, tf.int32, [[]])

    def fill(i):
        with tf.control_dependencies([queue.enqueue(i * i)]):
            return i + 1

    filled = tf.while_loop(lambda i: i < 5, fill, [0], parallel_iterations=1)
    with tf.control_dependencies([filled]):
        total = tf.while_loop(
            lambda i, t: i < 4, lambda i, t: (i + 1, t * 10 + queue.dequeue()), (0, 0), parallel_iterations=1
        )[1]
    with tf.control_dependencies([total]):
        left = queue.size()
    return _run(tf, [total, left])


def python_sees_the_order(tf):
    seen = []

    def note(i, j):
        seen.append([int(i), int(j)])
        return np.int32(0)

    def inner(i):
        return tf.while_loop(
            lambda j, _: j < 2,
            lambda j, s: (j + 1, s + tf.reshape(tf.py_func(note, [i, j], tf.int32), [])),
            (0, 0),
            parallel_iterations=1,
        )[1]

    _run(tf, tf.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, s + inner(i)), (0, 0), parallel_iterations=1))
    return seen


def weights_shared_by_name(tf):
    with tf.variable_scope("net", use_resource=True):
        tf.get_variable("w", initializer=np.float32([[0.5, 1.0], [1.0, -0.5]]))

    def body(i, x):
        with tf.variable_scope("net", reuse=True):
            return i + 1, tf.tanh(tf.matmul(x, tf.get_variable("w", [2, 2])))

    y = tf.while_loop(lambda i, _: i < 3, body, (0, tf.ones([1, 2])))[1]
    return [v.name for v in tf.trainable_variables()], y, tf.gradients(y, tf.trainable_variables())


def depth_three(tf):
    p = tf.placeholder_with_default(True, [])
    x = tf.constant([0.5, -1.0, 2.0], tf.float64)

    def inner(y):
        return tf.while_loop(lambda k, _: k < 2, lambda k, y: (k + 1, tf.sin(y) + x), (0, y))[1]

    def body(i, y):
        return i + 1, tf.cond(p & (i > 0), lambda: inner(y), lambda: tf.cond(p, lambda: y * x, lambda: y))

    y = tf.while_loop(lambda i, _: i < 3, body, (0, x))[1]
    return y, tf.gradients(y, x)


# -- mistakes ----------------------------------------------------------------------------------------------------------


def other_keys(tf):
    return tf.while_loop(lambda d: d["a"] < 3, lambda d: [{"b": d["a"] + 1}], [{"a": tf.constant(0)}])


def wrong_structure_inside(tf):
    start = (tf.constant(0), [tf.constant(1.0), (tf.constant(2.0),)])
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, [x[0], (x[0], x[0])]), start)


def shape_changes_in_a_branch(tf):
    def body(i, x):
        return i + 1, tf.cond(i > 0, lambda: x, lambda: tf.concat([x, x], 0))

    return tf.while_loop(lambda i, _: i < 3, body, (0, tf.ones([2])))


def predicate_is_a_vector_in_the_step(tf):
    p = tf.placeholder_with_default([True, False], None)
    return tf.while_loop(lambda i: p, lambda i: i + 1, [0], maximum_iterations=2)


def wrong_number_of_arguments(tf):
    return tf.while_loop(lambda i, x: i < 3, lambda i: (i + 1, 2.0), (0, 1.0))


def wrong_number_of_arguments_of_the_condition(tf):
    return tf.while_loop(lambda i: i < 3, lambda i, x: (i + 1, x), (0, 1.0))


def body_that_raises(tf):
    def body(i):
        raise KeyError("lost")

    return tf.while_loop(lambda i: i < 3, body, [0])


def condition_that_raises(tf):
    def more(i):
        raise RuntimeError("lost")

    return tf.while_loop(more, lambda i: i + 1, [0])


def branch_that_raises(tf):
    def lost():
        raise LookupError("lost")

    return tf.cond(tf.constant(True), lost, lambda: tf.constant(1))


def variable_that_is_nothing(tf):
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x), (0, None))


def variable_that_is_a_function(tf):
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x), (0, lambda: 1))


def invariant_of_another_rank(tf):
    return tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], shape_invariants=[tf.TensorShape([None])])


def failure_in_the_third_iteration(tf):
    x = tf.constant([1, 2, 3])
    return tf.while_loop(lambda i, _: i < 5, lambda i, t: (i + 1, t + tf.gather(x, i + 1)), (0, 0))


def failure_in_an_inner_loop(tf):
    def inner(i):
        return tf.while_loop(lambda j: j < 3, lambda j: tf.reshape(tf.fill([j + 1], j + 1), []), [i])

    return tf.while_loop(lambda i: i < 3, inner, [0])
