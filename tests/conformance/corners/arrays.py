"""Corners of TensorArray and of map_fn, foldl, foldr, scan: static shapes, order, gradients, errors."""

import numpy as np


def stacked(tf):
    a = tf.TensorArray(tf.float32, 3)
    for k in range(3):
        a = a.write(k, [k + 0.5, k * 2.0])
    return a.stack()


def size_and_type(tf):
    a = tf.TensorArray(tf.int64, 4)
    b, c = (tf.TensorArray(tf.float32, tf.placeholder_with_default(5, []), dynamic_size=True) for _ in range(2))
    return a.size(), b.size(), a.dtype.name, c.write(7, 1.0).size()


def grows(tf):
    a = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[])
    for k in range(3):
        a = a.write(k, k + 0.5)
    return a.stack(), a.size()


def grows_with_a_gap(tf):
    a = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[2])
    return a.write(2, [1.0, 2.0]).stack()


def gap_of_unknown_shape(tf):
    a = tf.TensorArray(tf.float32, 3, infer_shape=False)
    return a.write(2, [1.0, 2.0]).stack()


def gap_of_inferred_shape(tf):
    a = tf.TensorArray(tf.float32, 3)
    return a.write(2, [1.0, 2.0]).stack()


def unstacked(tf):
    a = tf.TensorArray(tf.int32, 3).unstack([[1, 2], [3, 4], [5, 6]])
    return a.read(2), a.read(0)


def unstacked_strings(tf):
    a = tf.TensorArray(tf.string, 2).unstack(["a", "bc"])
    return a.read(1), a.read(0)


def unstacked_more_than_there_is_room(tf):
    return tf.TensorArray(tf.int32, 2).unstack([[1, 2], [3, 4], [5, 6]]).read(0)


def unstacked_less_than_there_is_room(tf):
    return tf.TensorArray(tf.int32, 4).unstack([[1, 2], [3, 4]]).size()


def gathered(tf):
    a = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack([1.0, 2.0, 3.0])
    return a.gather([2, 0]), a.gather([2, 2, 2])


def gathered_nothing(tf):
    a = tf.TensorArray(tf.float32, 3, element_shape=[2])
    return a.gather(tf.zeros([0], tf.int32))


def scattered(tf):
    a = tf.TensorArray(tf.float32, 4).scatter([3, 1], [[1.0, 2.0], [3.0, 4.0]])
    return a.stack()


def scattered_unequal(tf):
    return tf.TensorArray(tf.float32, 4).scatter([3, 1, 0], [[1.0, 2.0], [3.0, 4.0]]).stack()


def concatenated(tf):
    a = tf.TensorArray(tf.float32, 3, infer_shape=False)
    a = a.write(0, [[1.0, 2.0]]).write(1, tf.zeros([0, 2])).write(2, [[3.0, 4.0], [5.0, 6.0]])
    return a.concat()


def concatenated_unequal(tf):
    return tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [[1.0]]).write(1, [[1.0, 2.0]]).concat()


def split_up(tf):
    a = tf.TensorArray(tf.float32, 3, infer_shape=False, clear_after_read=False).split([[1.0], [2.0], [3.0]], [1, 0, 2])
    return a.read(0), a.read(1), a.read(2), a.concat()


def split_up_wrongly(tf):
    return tf.TensorArray(tf.float32, 2, infer_shape=False).split([[1.0], [2.0], [3.0]], [1, 1]).read(0)


def split_up_into_too_many(tf):
    return tf.TensorArray(tf.float32, 2, infer_shape=False).split([[1.0], [2.0], [3.0]], [1, 1, 1]).read(0)


def split_up_into_too_few(tf):
    return tf.TensorArray(tf.float32, 4, infer_shape=False).split([[1.0], [2.0], [3.0]], [1, 1, 1]).read(0)


def identical(tf):
    a = tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0])
    return a.identity().stack()


def element_shapes(tf):
    a = tf.TensorArray(tf.float32, 3)
    b = tf.TensorArray(tf.float32, 3, element_shape=[None, 2])
    c = tf.TensorArray(tf.float32, 3, infer_shape=False)
    p = tf.placeholder_with_default(np.ones((4, 2), np.float32), [None, None])
    shapes = [a.write(0, p).read(0).shape, b.write(0, p).read(0).shape, c.write(0, p).read(0).shape]
    return [None if s.ndims is None else s.as_list() for s in shapes]


def stack_shapes(tf):
    n = tf.placeholder_with_default(2, [])
    results = [
        tf.TensorArray(tf.float32, 2).unstack(tf.zeros([2, 3])).stack(),
        tf.TensorArray(tf.float32, n).unstack(tf.zeros([2, 3])).stack(),
        tf.TensorArray(tf.float32, 2, element_shape=[None]).unstack(tf.zeros([2, 3])).stack(),
        tf.TensorArray(tf.float32, 0, dynamic_size=True).unstack(tf.zeros([2, 3])).stack(),
        tf.TensorArray(tf.float32, 2, infer_shape=False).unstack(tf.zeros([2, 3])).stack(),
        tf.TensorArray(tf.float32, 2).unstack(tf.zeros([2, 3])).concat(),
    ]
    return results


def written_twice(tf):
    return tf.TensorArray(tf.float32, 3).write(0, 1.0).write(0, 2.0).read(0)


def read_twice(tf):
    a = tf.TensorArray(tf.float32, 3).write(0, 1.0)
    first = a.read(0)
    with tf.control_dependencies([first]):
        return a.read(0)


def read_twice_if_kept(tf):
    a = tf.TensorArray(tf.float32, 3, clear_after_read=False).write(0, 1.0)
    first = a.read(0)
    with tf.control_dependencies([first]):
        return a.read(0)


def written_after_reading(tf):
    a = tf.TensorArray(tf.float32, 3, clear_after_read=False).write(0, 1.0)
    with tf.control_dependencies([a.read(0)]):
        return a.identity().write(0, 2.0).read(0)


def read_before_writing(tf):
    return tf.TensorArray(tf.float32, 3).read(1)


def read_before_writing_with_a_shape(tf):
    return tf.TensorArray(tf.float32, 3, element_shape=[2]).read(1)


def written_past_the_end(tf):
    return tf.TensorArray(tf.float32, 3).write(3, 1.0).size()


def written_past_the_end_and_read(tf):
    return tf.TensorArray(tf.float32, 3).write(3, 1.0).read(3)


def written_before_the_beginning(tf):
    return tf.TensorArray(tf.float32, 3).write(-1, 1.0).stack()


def written_before_the_beginning_if_it_grows(tf):
    return tf.TensorArray(tf.float32, 3, dynamic_size=True).write(-1, 1.0).stack()


def read_past_the_end(tf):
    return tf.TensorArray(tf.float32, 3, element_shape=[]).read(3)


def read_before_the_beginning(tf):
    return tf.TensorArray(tf.float32, 3, element_shape=[]).read(-1)


def another_shape(tf):
    return tf.TensorArray(tf.float32, 3).write(0, [1.0]).write(1, [1.0, 2.0]).stack()


def another_shape_unseen(tf):
    p = tf.placeholder_with_default(np.float32([1, 2]), [None])
    return tf.TensorArray(tf.float32, 2).write(0, [1.0]).write(1, p).stack()


def another_shape_if_not_inferred(tf):
    a = tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [1.0]).write(1, [1.0, 2.0])
    return a.read(1), a.read(0)


def another_shape_if_not_inferred_and_stacked(tf):
    return tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [1.0]).write(1, [1.0, 2.0]).stack()


def another_type(tf):
    return tf.TensorArray(tf.float32, 3).write(0, tf.constant(1)).read(0)


def another_type_of_python(tf):
    return tf.TensorArray(tf.int32, 3).write(0, 1.5).read(0)


def index_is_a_vector(tf):
    return tf.TensorArray(tf.float32, 3).write([0], 1.0).read(0)


def index_is_a_float(tf):
    return tf.TensorArray(tf.float32, 3).write(0.0, 1.0).read(0)


def negative_size(tf):
    return tf.TensorArray(tf.float32, -1).size()


def negative_size_unseen(tf):
    return tf.TensorArray(tf.float32, tf.placeholder_with_default(-1, [])).size()


def no_size(tf):
    return tf.TensorArray(tf.float32).size()


def closed(tf):
    a = tf.TensorArray(tf.float32, 3)
    return a.close()


def stacked_nothing(tf):
    return tf.TensorArray(tf.float32, 0, element_shape=[2]).stack()


def stacked_nothing_of_unknown_shape(tf):
    return tf.TensorArray(tf.float32, 0).stack()


def concatenated_nothing(tf):
    return tf.TensorArray(tf.float32, 0, element_shape=[None, 2]).concat()


def gradient_of_writes(tf):
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    z = tf.TensorArray(tf.float32, 2).write(0, x).write(1, y * y).stack()
    return tf.gradients(z * [[1.0, 2.0], [3.0, 4.0]], [x, y])


def gradient_of_reads(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    a = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)
    return tf.gradients(a.read(1) * a.read(2), x), tf.gradients(a.read(0) ** 2 + 3.0 * a.read(0), x)


def gradient_of_gather_and_scatter(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    a = tf.TensorArray(tf.float32, 3, clear_after_read=False).scatter([2, 0, 1], x)
    return tf.gradients(a.gather([1, 2, 2]) * [1.0, 10.0, 100.0], x)


def gradient_of_concat_and_split(tf):
    x = tf.constant([[1.0], [2.0], [3.0]])
    a = tf.TensorArray(tf.float32, 2, infer_shape=False, clear_after_read=False).split(x, [1, 2])
    return tf.gradients(a.concat() * x, x), tf.gradients(a.read(1), x)


def mapped(tf):
    return tf.map_fn(lambda e: e * e + 1, tf.constant([[1, 2], [3, 4], [5, 6]]))


def mapped_to_another_type(tf):
    return tf.map_fn(lambda e: tf.cast(e, tf.float32) / 2.0, tf.constant([1, 2, 3]), dtype=tf.float32)


def mapped_to_another_type_without_saying(tf):
    return tf.map_fn(lambda e: tf.cast(e, tf.float32) / 2.0, tf.constant([1, 2, 3]))


def mapped_structures(tf):
    return tf.map_fn(lambda e: (e[0] + e[1], e[0] * e[1]), (tf.constant([1, 2, 3]), tf.constant([4, 5, 6])))


def mapped_to_another_structure(tf):
    return tf.map_fn(
        lambda e: {"a": e, "b": [e * 2.0, 1]},
        tf.constant([1.0, 2.0]),
        dtype={"a": tf.float32, "b": [tf.float32, tf.int32]},
    )


def mapped_to_a_structure_without_saying(tf):
    return tf.map_fn(lambda e: (e, e), tf.constant([1.0, 2.0]))


def mapped_nothing(tf):
    return tf.map_fn(lambda e: e * 2.0, tf.zeros([0, 3]))


def mapped_a_scalar(tf):
    return tf.map_fn(lambda e: e * 2.0, tf.constant(1.0))


def mapped_unequal_lengths(tf):
    return tf.map_fn(lambda e: e[0] + e[1], (tf.constant([1, 2, 3]), tf.constant([4, 5])), dtype=tf.int32)


def mapped_shapes(tf):
    p = tf.placeholder_with_default(np.ones((2, 3), np.float32), [None, 3])
    q = tf.placeholder_with_default(np.ones((2, 3), np.float32), None)
    return [
        tf.map_fn(lambda e: e, p),
        tf.map_fn(lambda e: tf.reduce_sum(e), p),
        tf.map_fn(lambda e: e, q),
        tf.map_fn(lambda e: tf.reshape(e, [3, 1]), q),
        tf.map_fn(lambda e: e[: tf.cast(e[0], tf.int32)], tf.ones([2, 3]), infer_shape=False),
    ]


def mapped_strings(tf):
    return tf.map_fn(lambda e: tf.string_join([e, "!"]), tf.constant(["a", "b"]))


def mapped_with_gradient(tf):
    x, w = tf.constant([1.0, 2.0, 3.0]), tf.constant(2.0)
    y = tf.map_fn(lambda e: tf.sin(e) * w, x)
    return y, tf.gradients(y, [x, w])


def mapped_without_back_prop(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    return tf.gradients(tf.map_fn(lambda e: tf.sin(e), x, back_prop=False), x)


def mapped_inside_of_map(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    y = tf.map_fn(lambda row: tf.map_fn(lambda e: e * e, row), x)
    return y, tf.gradients(y, x)


def folded(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    return [
        tf.foldl(lambda a, e: a - e, x),
        tf.foldr(lambda a, e: a - e, x),
        tf.foldl(lambda a, e: a - e, x, initializer=tf.constant([10.0, 20.0])),
        tf.foldr(lambda a, e: a - e, x, initializer=tf.constant([10.0, 20.0])),
    ]


def folded_into_another_type(tf):
    return tf.foldl(lambda a, e: a + tf.cast(e, tf.float32), tf.constant([1, 2, 3]), initializer=0.5)


def folded_structures(tf):
    x = (tf.constant([1, 2, 3]), tf.constant([4, 5, 6]))
    return tf.foldl(lambda a, e: a + e[0] * e[1], x, initializer=0), tf.foldr(
        lambda a, e: (a[0] + e[0], a[1] - e[1]), x
    )


def folded_nothing(tf):
    return tf.foldl(lambda a, e: a + e, tf.zeros([0]), initializer=3.0)


def folded_with_gradient(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    return tf.gradients(tf.foldl(lambda a, e: a * e, x), x), tf.gradients(tf.foldr(lambda a, e: a * e + e, x), x)


def scanned(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    return [
        tf.scan(lambda a, e: a + e, x),
        tf.scan(lambda a, e: a + e, x, reverse=True),
        tf.scan(lambda a, e: a + e, x, initializer=tf.constant([10.0, 20.0])),
        tf.scan(lambda a, e: a + e, x, initializer=tf.constant([10.0, 20.0]), reverse=True),
    ]


def scanned_structures(tf):
    x = tf.constant([1, 2, 3])
    return tf.scan(lambda a, e: (a[1], a[0] + a[1] + e), x, initializer=(tf.constant(0), tf.constant(1)))


def scanned_shapes(tf):
    p = tf.placeholder_with_default(np.ones((2, 3), np.float32), [None, 3])
    return tf.scan(lambda a, e: a + e, p), tf.scan(lambda a, e: a + tf.reduce_sum(e), p, initializer=0.0)


def scanned_nothing(tf):
    return tf.scan(lambda a, e: a + e, tf.zeros([0, 2]), initializer=tf.zeros([2]))


def scanned_into_another_shape(tf):
    return tf.scan(lambda a, e: tf.concat([a, e], 0), tf.ones([3, 2]))


def scanned_with_gradient(tf):
    x, w = tf.constant([1.0, 2.0, 3.0]), tf.constant(0.5)
    y = tf.scan(lambda a, e: a * w + e, x)
    return y, tf.gradients(y, [x, w]), tf.gradients(tf.scan(lambda a, e: a * e, x, reverse=True), x)
