"""Corners of shapes: slices, reshapes, paddings, gathers, splits."""

import numpy as np


def _cube(tf):
    return tf.reshape(tf.range(24), [2, 3, 4])


def slices_with_steps(tf):
    x = _cube(tf)
    return x[:, ::2], x[::-1, 1:, ::-2], x[1, -1, 1:3], x[:, 5:], x[0, 2:0:-1, 3]


def slices_with_an_ellipsis(tf):
    x = _cube(tf)
    return x[..., 1], x[1, ...], x[..., 1:, ::3], x[..., tf.newaxis].shape.as_list()


def slices_with_new_axes(tf):
    x = _cube(tf)
    return [s.shape.as_list() for s in (x[tf.newaxis], x[:, None, 0], x[..., None, :], x[None, ..., None])]


def slices_by_tensors(tf):
    x, i = _cube(tf), tf.placeholder_with_default(1, [])
    return x[i], x[i:, :i], x[:, i, -i], x[0, i : i + 2].shape.as_list()


def slice_out_of_range_is_empty(tf):
    x = tf.range(5)
    return x[3:1], x[7:], x[-9:2], x[:0], x[2:-9:-1]


def index_out_of_range(tf):
    return tf.range(3)[5]


def index_out_of_range_in_the_step(tf):
    return tf.range(3)[tf.placeholder_with_default(3, [])]


def too_many_indices(tf):
    return tf.range(3)[0, 0]


def step_of_zero(tf):
    return tf.range(3)[::0]


def float_index_is_refused(tf):
    return tf.range(3)[1.5]


def strided_slice_with_masks(tf):
    x = _cube(tf)
    return (
        tf.strided_slice(x, [0, 1], [2, 3], [1, 1]),
        tf.strided_slice(x, [0, 1, 0], [1, 3, 4], begin_mask=1, end_mask=4, shrink_axis_mask=2),
        tf.strided_slice(x, [1, 0, 2], [2, 0, 3], new_axis_mask=2, ellipsis_mask=1),
    )


def plain_slices(tf):
    x = _cube(tf)
    return tf.slice(x, [0, 1, 0], [1, -1, 2]), tf.slice(x, [1, 3, 0], [0, 0, -1])


def plain_slice_too_large(tf):
    return tf.slice(_cube(tf), [0, 1, 0], [1, 3, 2])


def reshape_with_a_free_size(tf):
    x = _cube(tf)
    return tf.reshape(x, [-1]), tf.reshape(x, [4, -1]).shape.as_list(), tf.reshape(x, (3, -1, 2)).shape.as_list()


def reshape_of_nothing(tf):
    return [tf.reshape(tf.zeros([0, 3]), s).shape.as_list() for s in ([-1, 3], [0, 7], [5, 0, -1, 2], [-1])[:2]]


def reshape_of_nothing_with_a_free_size(tf):
    return tf.reshape(tf.zeros([0, 3]), [0, -1])


def reshape_of_nothing_flat(tf):
    return tf.reshape(tf.zeros([0, 3]), [-1]), tf.reshape(tf.constant(5), [1, 1]), tf.reshape([7], [])


def reshape_that_does_not_fit(tf):
    return tf.reshape(_cube(tf), [5, -1])


def reshape_with_two_free_sizes(tf):
    return tf.reshape(_cube(tf), [-1, -1])


def reshape_by_a_tensor(tf):
    x = tf.placeholder_with_default(np.arange(6), [None])
    y = tf.reshape(x, tf.stack([2, tf.size(x) // 2]))
    return y, y.shape.as_list(), tf.reshape(x, [-1, tf.shape(x)[0]]).shape.as_list()


def squeezes(tf):
    x = tf.zeros([1, 2, 1, 3])
    return [
        s.shape.as_list()
        for s in (tf.squeeze(x), tf.squeeze(x, 0), tf.squeeze(x, [-2]), tf.squeeze(x, squeeze_dims=[2]))
    ]


def squeeze_of_what_is_not_one(tf):
    return tf.squeeze(tf.zeros([1, 2]), 1)


def expanded_dimensions(tf):
    x = tf.zeros([2, 3])
    return [tf.expand_dims(x, axis).shape.as_list() for axis in (0, 1, 2, -1, -3)]


def expanded_beyond(tf):
    return tf.expand_dims(tf.zeros([2, 3]), 3)


def static_shapes_with_unknown_sizes(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.placeholder(tf.float32)
    shapes = [
        x + 1.0,
        tf.transpose(x),
        tf.concat([x, x], 0),
        tf.concat([x, x], 1),
        tf.reduce_sum(x, 0),
        tf.tile(x, [1, 2]),
    ]
    shapes += [tf.reshape(x, [-1, 1]), tf.matmul(x, tf.zeros([3, 5])), tf.stack([x, x]), y + x, tf.expand_dims(y, 0)]
    return [str(s.shape) for s in shapes]


def known_shape_is_a_constant(tf):
    x = tf.placeholder(tf.float32, [2, 3])
    return tf.shape(x), tf.size(x), tf.rank(x), tf.shape(x, out_type=tf.int64).dtype.name


def concatenation(tf):
    x = tf.constant([[1, 2]])
    return tf.concat([x, x], 0), tf.concat([x, x], -1), tf.concat([x, tf.zeros([0, 2], tf.int32)], 0), tf.concat([x], 0)


def concatenation_of_other_sizes(tf):
    return tf.concat([tf.zeros([2, 3]), tf.zeros([2, 4])], 0)


def concatenation_of_scalars_is_refused(tf):
    return tf.concat([1, 2], 0)


def stacks(tf):
    x, y = tf.constant([1, 2]), tf.constant([3, 4])
    return (
        tf.stack([x, y]),
        tf.stack([x, y], axis=-1),
        tf.stack([1, tf.constant(2), 3]),
        tf.unstack(tf.stack([x, y]), axis=1),
    )


def stack_axis_out_of_range(tf):
    return tf.stack([tf.zeros([2])], axis=2)


def unstack_of_an_unknown_size(tf):
    return tf.unstack(tf.placeholder(tf.float32, [None, 2]))


def splits(tf):
    x = tf.reshape(tf.range(12), [2, 6])
    return (
        tf.split(x, 3, axis=1),
        tf.split(x, [1, 2, -1], 1),
        tf.split(x, 2),
        tf.split(value=x, num_or_size_splits=2, axis=-1),
    )


def split_that_does_not_divide(tf):
    return tf.split(tf.zeros([5]), 2)


def split_sizes_that_do_not_add_up(tf):
    return tf.split(tf.zeros([5]), [2, 2])


def transposes(tf):
    x = _cube(tf)
    z = tf.constant([[1 + 1j, 2j]], tf.complex64)
    return (
        tf.transpose(x, [2, 0, 1]),
        tf.transpose(x).shape.as_list(),
        tf.transpose(z, conjugate=True),
        tf.matrix_transpose(x),
    )


def transpose_that_names_a_dimension_twice(tf):
    return tf.transpose(_cube(tf), [0, 0, 1])


def tiles(tf):
    return tf.tile([[1, 2]], [2, 3]), tf.tile([1, 2], [0]), tf.tile(["a"], [2])


def paddings(tf):
    x = tf.constant([[1, 2, 3], [4, 5, 6]])
    p = [[1, 1], [2, 0]]
    return (
        tf.pad(x, p),
        tf.pad(x, p, constant_values=9),
        tf.pad(x, p, "REFLECT"),
        tf.pad(x, p, mode="SYMMETRIC"),
    )


def symmetric_padding_of_all(tf):
    return tf.pad([1, 2, 3], [[3, 3]], "SYMMETRIC"), tf.pad([1, 2, 3], [[2, 2]], "REFLECT")


def reflected_padding_too_large(tf):
    return tf.pad([1, 2, 3], [[3, 0]], "REFLECT")


def padding_of_no_mode(tf):
    return tf.pad([1, 2], [[1, 1]], "WRAP")


def gathers(tf):
    x = _cube(tf)
    none = np.zeros([0], np.int64)
    return tf.gather(x, [1, 0]), tf.gather(x, [[2, 0]], axis=1), tf.gather(x, 3, axis=-1), tf.gather([5, 6], none)


def gather_by_an_empty_list(tf):
    return tf.gather([5, 6], [])


def gathers_of_batches(tf):
    x = tf.reshape(tf.range(12), [2, 2, 3])
    return tf.gather(x, [[0, 1], [1, 1]], batch_dims=1), tf.batch_gather(x, [[1], [0]])


def gather_out_of_range(tf):
    return tf.gather([1, 2, 3], [0, 3])


def gather_of_a_negative_index(tf):
    return tf.gather([1, 2, 3], tf.placeholder_with_default([-1], [1]))


def gathers_by_vectors(tf):
    x = _cube(tf)
    return (
        tf.gather_nd(x, [[0, 1], [1, 2]]),
        tf.gather_nd(x, [[1, 2, 3]]),
        tf.gather_nd(x, [1]),
        tf.gather_nd(x, np.zeros([2, 0], np.int32)),
    )


def gather_by_vectors_out_of_range(tf):
    return tf.gather_nd([[1, 2]], [[0, 2]])


def scattering(tf):
    return tf.scatter_nd([[1], [3], [1]], [10, 20, 5], [5]), tf.scatter_nd([[0, 1]], ["a"], [1, 2])


def scattering_out_of_range(tf):
    return tf.scatter_nd([[7]], [1], [5])


def scattering_into_tensors(tf):
    x = tf.ones([4], tf.int32)
    return (
        tf.tensor_scatter_update(x, [[1], [3]], [7, 8]),
        tf.tensor_scatter_add(x, [[1], [1]], [7, 8]),
        tf.tensor_scatter_sub(x, [[0]], [3]),
    )


def one_hot_along_axes(tf):
    return (
        tf.one_hot([0, 2, -1, 9], 3),
        tf.one_hot([0, 2], 3, axis=0),
        tf.one_hot([[0], [1]], 2, axis=1, on_value=5, off_value=-1),
        tf.one_hot([1], 3, on_value=True, off_value=False, dtype=tf.bool),
        tf.one_hot([], 3),
        tf.one_hot(2, 4),
    )


def one_hot_with_values_of_other_types(tf):
    return tf.one_hot([1], 2, on_value=1.0, off_value=0)


def one_hot_of_a_negative_depth(tf):
    return tf.one_hot([1], -1)


def sequence_masks(tf):
    return tf.sequence_mask([1, 3, 0]), tf.sequence_mask([[1], [2]], 3, tf.float32), tf.sequence_mask(2, 4)


def reversals(tf):
    x = _cube(tf)
    return (
        tf.reverse(x, [0, -1]),
        tf.reverse(x, []),
        tf.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1, batch_axis=0),
    )


def reversal_of_an_axis_twice(tf):
    return tf.reverse(_cube(tf), [0, -3])


def rolls(tf):
    return tf.roll([1, 2, 3, 4], 1, 0), tf.roll([[1, 2], [3, 4]], [1, -1], [0, 1]), tf.roll([1, 2, 3], -4, 0)


def space_and_depth(tf):
    x = tf.reshape(tf.range(16), [1, 4, 4, 1])
    y = tf.space_to_depth(x, 2)
    return (
        y,
        tf.depth_to_space(y, 2),
        tf.space_to_batch(x, [[0, 0], [0, 0]], 2),
        tf.space_to_batch_nd(x, [2, 2], [[1, 1], [0, 2]]),
    )


def batch_to_space(tf):
    x = tf.reshape(tf.range(16), [4, 2, 2, 1])
    return tf.batch_to_space(x, [[0, 1], [1, 0]], 2), tf.batch_to_space_nd(x, [2, 2], [[0, 0], [2, 0]])


def diagonals(tf):
    x = tf.reshape(tf.range(12), [3, 4])
    return (
        tf.diag([1, 2]),
        tf.diag_part([[1, 2], [3, 4]]),
        tf.matrix_diag([[1, 2]]),
        tf.matrix_diag_part(x),
        tf.trace([[1, 2], [3, 4]]),
    )


def diagonals_set_and_bands(tf):
    x = tf.reshape(tf.range(12), [3, 4])
    return (
        tf.matrix_set_diag(x, [7, 8, 9]),
        tf.matrix_band_part(x, 1, 0),
        tf.matrix_band_part(x, -1, 1),
        tf.eye(2, 3, batch_shape=[1]),
    )


def broadcasts_to_shapes(tf):
    return (
        tf.broadcast_to([1, 2], [3, 2]),
        tf.broadcast_to(5, []),
        tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3])).as_list(),
    )


def broadcast_that_does_not_fit(tf):
    return tf.broadcast_to([1, 2, 3], [2])


def meshgrids(tf):
    return tf.meshgrid([1, 2, 3], [4, 5]), tf.meshgrid([1, 2, 3], [4, 5], indexing="ij")


def partitions_and_stitches(tf):
    parts = tf.dynamic_partition([10, 20, 30, 40], [1, 0, 1, 0], 3)
    return parts, tf.dynamic_stitch([[0, 2], [1, 2]], [[1, 3], [2, 9]]), tf.dynamic_stitch([[0], 2], [["a"], "c"])


def partition_out_of_range(tf):
    return tf.dynamic_partition([1, 2], tf.placeholder_with_default([0, 5], [2]), 2)[0]


def bitcasts(tf):
    return (
        tf.bitcast([1.0, -2.0], tf.int32),
        tf.bitcast(tf.constant([1, 2], tf.int32), tf.uint8),
        tf.bitcast(tf.constant([[1, 0, 0, 0]], tf.uint8), tf.int32),
    )


def filled_shapes(tf):
    return (
        tf.fill([2, 0], 1),
        tf.fill([], 3),
        tf.zeros([2], tf.string),
        tf.ones([1], tf.bool),
        tf.zeros_like([1.5]),
        tf.ones_like([[1]], dtype=tf.float64),
    )


def fill_of_a_negative_shape(tf):
    return tf.fill([-1], 0)


def set_shape(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    x.set_shape([2, None])
    y = tf.placeholder_with_default(tf.zeros([2]), [None])
    return x.shape.as_list(), y.shape.as_list(), y.get_shape().ndims


def set_shape_that_contradicts(tf):
    tf.placeholder(tf.float32, [None, 3]).set_shape([2, 4])


def feeding_the_wrong_shape(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.Session() as session:
        session.run(x, {x: np.zeros([2, 4])})


def fetching_what_was_not_fed(tf):
    with tf.Session() as session:
        session.run(tf.placeholder(tf.float32, [2]) + 1.0)


def edit_distances(tf):
    a = tf.SparseTensor([[0, 0], [1, 0]], ["a", "b"], [2, 1])
    b = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "c", "b"], [2, 2])
    return tf.edit_distance(a, b), tf.edit_distance(a, b, normalize=False)
