"""Programs of loops and conditionals together: small algorithms, structures, mistakes."""

import collections

import numpy as np

Pair = collections.namedtuple("Pair", "left right")


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
