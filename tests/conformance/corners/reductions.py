"""Corners of reductions: no elements, no axes, negative axes, running sums, segments."""

import numpy as np


def _rows(tf):
    return tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def sums_over_axes(tf):
    x = _rows(tf)
    return (
        tf.reduce_sum(x),
        tf.reduce_sum(x, 0),
        tf.reduce_sum(x, [0, -1]),
        tf.reduce_sum(x, -1, keepdims=True),
        tf.reduce_sum(x, []),
    )


def old_names_of_arguments(tf):
    x = _rows(tf)
    return (
        tf.reduce_sum(x, reduction_indices=[1]),
        tf.reduce_mean(x, axis=1, keep_dims=True),
        tf.reduce_max(x, reduction_indices=0),
    )


def reductions_of_nothing(tf):
    x = tf.zeros([0, 3])
    return (
        tf.reduce_sum(x, 0),
        tf.reduce_prod(x, 0),
        tf.reduce_mean(x, 0),
        tf.reduce_max(x, 0),
        tf.reduce_min(x, 0),
        tf.reduce_sum(x, 1),
    )


def reductions_of_no_integers(tf):
    x = tf.zeros([0], tf.int32)
    return tf.reduce_sum(x), tf.reduce_prod(x), tf.reduce_max(x), tf.reduce_min(x)


def reductions_of_no_truth(tf):
    x = tf.zeros([0, 2], tf.bool)
    return tf.reduce_all(x), tf.reduce_any(x), tf.reduce_all(x, 0), tf.reduce_any(x, 1)


def logsumexp_of_nothing_and_infinity(tf):
    return (
        tf.reduce_logsumexp(tf.zeros([0])),
        tf.reduce_logsumexp([-np.inf, -np.inf]),
        tf.reduce_logsumexp([np.inf, 0.0]),
    )


def mean_of_integers(tf):
    return tf.reduce_mean([1, 2, 4]), tf.reduce_mean([-1, -2, -4]), tf.reduce_mean(tf.constant([250, 250], tf.uint8))


def sum_of_narrow_integers_wraps(tf):
    return tf.reduce_sum(tf.constant([100, 100], tf.int8)), tf.reduce_prod(tf.constant([100, 3], tf.uint8))


def axis_out_of_range(tf):
    return tf.reduce_sum(_rows(tf), 2)


def axis_twice(tf):
    return tf.reduce_sum(_rows(tf), [0, 0])


def axis_twice_by_another_name(tf):
    axes = tf.placeholder(tf.int32, [2])
    with tf.Session() as session:
        session.run(tf.reduce_sum(_rows(tf), axes), {axes: [1, -1]})


def reduction_of_a_scalar(tf):
    return tf.reduce_sum(5.0), tf.reduce_max(3), tf.reduce_sum(5.0, [])


def reduction_with_unknown_rank(tf):
    x = tf.placeholder_with_default(_rows(tf), None)
    return tf.reduce_sum(x), tf.reduce_mean(x, 0), tf.reduce_max(x, -1), tf.reduce_sum(x, 0).shape.ndims


def truth(tf):
    x = tf.constant([[True, False], [True, True]])
    return tf.reduce_all(x, 1), tf.reduce_any(x, 0), tf.count_nonzero(x), tf.count_nonzero([[0.0, -0.0, np.nan]], 1)


def norms(tf):
    x = tf.constant([[3.0, -4.0], [0.0, 0.0]])
    return (
        tf.norm(x),
        tf.norm(x, 1),
        tf.norm(x, np.inf, axis=1),
        tf.norm(x, axis=1, keepdims=True),
        tf.norm(x, "fro", axis=[0, 1]),
    )


def moments(tf):
    mean, variance = tf.nn.moments(_rows(tf), [0])
    weighted, spread = tf.nn.weighted_moments(_rows(tf), [1], [[1.0, 1.0, 2.0]])
    return mean, variance, weighted, spread


def moments_of_halves(tf):
    mean, variance = tf.nn.moments(tf.cast(_rows(tf) * 100, tf.float16), [0, 1], keep_dims=True)
    return mean, variance


def standard_deviation(tf):
    return (
        tf.math.reduce_std(_rows(tf), 1),
        tf.math.reduce_variance(_rows(tf)),
        tf.math.reduce_euclidean_norm([3.0, 4.0]),
    )


def normalizing_zero(tf):
    return tf.nn.l2_normalize([[0.0, 0.0], [3.0, 4.0]], 1), tf.nn.l2_normalize([1.0, 2.0], 0, epsilon=100.0)


def running_sums(tf):
    x = _rows(tf)
    both = [(e, r) for e in (False, True) for r in (False, True)]
    return [tf.cumsum(x, 1, exclusive=e, reverse=r) for e, r in both], tf.cumsum(x), tf.cumsum([1, 2, 3], axis=-1)


def running_products(tf):
    x = tf.constant([2.0, 0.0, 3.0, -1.0])
    both = [(e, r) for e in (False, True) for r in (False, True)]
    return [tf.cumprod(x, exclusive=e, reverse=r) for e, r in both]


def running_sum_of_nothing(tf):
    return tf.cumsum(tf.zeros([0])), tf.cumsum(tf.zeros([2, 0]), 1), tf.cumprod(tf.zeros([0, 2]), 0)


def running_sum_axis_out_of_range(tf):
    return tf.cumsum(_rows(tf), 2)


def running_logsumexp(tf):
    return tf.math.cumulative_logsumexp([1.0, 2.0, -np.inf, 3.0]), tf.math.cumulative_logsumexp(
        [1.0, 2.0], exclusive=True, reverse=True
    )


def segments(tf):
    x, ids = tf.constant([[1, 2], [3, 4], [5, 6]]), [0, 0, 2]
    return (
        tf.segment_sum(x, ids),
        tf.segment_max(x, ids),
        tf.segment_min(x, ids),
        tf.segment_prod(x, ids),
        tf.segment_mean(tf.to_float(x), ids),
    )


def segments_out_of_order(tf):
    return tf.segment_sum([1, 2, 3], tf.placeholder_with_default([0, 2, 1], [3]))


def unsorted_segments(tf):
    x, ids = tf.constant([1.0, 2.0, 3.0, 4.0]), [2, 0, 2, -1]
    return (
        tf.unsorted_segment_sum(x, ids, 4),
        tf.unsorted_segment_max(x, ids, 4),
        tf.unsorted_segment_mean(x, ids, 4),
        tf.unsorted_segment_sqrt_n(x, ids, 3),
    )


def unsorted_segments_of_integers(tf):
    x, ids = tf.constant([5, -7, 9]), [1, 1, 3]
    return tf.unsorted_segment_prod(x, ids, 4), tf.unsorted_segment_min(x, ids, 4), tf.unsorted_segment_max(x, ids, 4)


def unsorted_segment_out_of_range(tf):
    return tf.unsorted_segment_sum([1, 2], tf.placeholder_with_default([0, 5], [2]), 3)


def losses(tf):
    labels, logits = (
        tf.constant([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]),
        tf.constant([[1.0, 2.0, -30.0], [90.0, -90.0, 0.0]]),
    )
    return (
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits),
        tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits),
        tf.nn.weighted_cross_entropy_with_logits(targets=labels, logits=logits, pos_weight=2.0),
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 2], logits=logits),
        tf.nn.l2_loss(logits),
    )


def loss_of_a_label_out_of_range(tf):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[3], logits=[[1.0, 2.0, 3.0]])


def loss_of_infinite_logits(tf):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=[[np.inf, 0.0], [-np.inf, 0.0]])


def zero_fraction(tf):
    return tf.nn.zero_fraction([0.0, 1.0, 0.0, -0.0]), tf.nn.zero_fraction([[0, 3]])


def total_norm_and_clipping(tf):
    x, y = tf.constant([3.0, 4.0]), tf.constant([[12.0]])
    clipped, norm = tf.clip_by_global_norm([x, None, y], 6.5)
    return clipped[0], clipped[1] is None, clipped[2], norm, tf.global_norm([x, y])


def clipping_by_norm(tf):
    x = tf.constant([[3.0, 4.0], [0.0, 0.0]])
    return (
        tf.clip_by_norm(x, 1.0),
        tf.clip_by_norm(x, 10.0),
        tf.clip_by_norm(x, 1.0, axes=[1]),
        tf.clip_by_average_norm(x, 1.0),
    )


def clipping_by_an_infinite_norm(tf):
    clipped, norm = tf.clip_by_global_norm([tf.constant([np.inf, 1.0])], 1.0)
    return clipped[0], norm


def checks_that_hold(tf):
    with tf.control_dependencies(
        [tf.assert_equal([1, 2], [1, 2]), tf.assert_positive([1.0]), tf.assert_rank([[1]], 2), tf.assert_less(1, 2)]
    ):
        return tf.constant(1)


def check_that_fails_at_once(tf):
    return tf.assert_equal([1, 2], [1, 3])


def check_that_fails_in_the_step(tf):
    x = tf.placeholder_with_default([1, 3], [2])
    with tf.control_dependencies([tf.assert_equal(x, [1, 2], message="of a test")]):
        return tf.identity(x)


def numbers_that_are_none(tf):
    return tf.check_numerics(tf.placeholder_with_default([1.0, np.nan], [2]), "of a test")


def in_words(tf):
    return tf.verify_tensor_all_finite(tf.placeholder_with_default([np.inf], [1]), "of a test")
