"""Corners of ordering: ties, NaN, the largest and the smallest."""

import numpy as np

TIES = [[3.0, 1.0, 3.0, 2.0], [0.0, -0.0, 0.0, -1.0]]


def argmax_with_ties(tf):
    return tf.argmax(TIES, 1), tf.argmin(TIES, 1), tf.argmax(TIES, 0), tf.argmax(TIES, -1, output_type=tf.int32)


def argmax_with_old_names(tf):
    return tf.arg_max(TIES, 1), tf.argmin(TIES, dimension=0), tf.argmax(TIES)


def argmax_of_an_empty_axis(tf):
    return tf.argmax(tf.placeholder_with_default(np.zeros([2, 0], np.float32), [2, 0]), 1)


def argmax_of_other_empty_axes(tf):
    return tf.argmax(tf.zeros([0, 3]), 1), tf.argmin(tf.zeros([2, 0]), 0)


def argmax_axis_out_of_range(tf):
    return tf.argmax(tf.zeros([2, 3]), 2)


def largest_with_nan(tf):
    x = tf.constant([[1.0, np.nan, 2.0], [3.0, 4.0, 5.0]])
    return tf.is_nan(tf.reduce_max(x, 1)), tf.is_nan(tf.reduce_min(x, 1))


def largest_k_with_ties(tf):
    values, indices = tf.nn.top_k(TIES, 3)
    return values, indices


def largest_k_of_integers(tf):
    values, indices = tf.nn.top_k(tf.constant([[5, -1, 5, 7], [0, 0, 0, 0]]), k=2)
    return values, indices


def largest_k_of_none(tf):
    values, indices = tf.nn.top_k([[1.0, 2.0]], 0)
    return values, indices


def largest_k_unsorted_has_the_same_values(tf):
    values, _ = tf.nn.top_k([[5.0, 1.0, 4.0, 2.0]], 2, sorted=False)
    return tf.reduce_sum(values)


def more_than_there_are(tf):
    return tf.nn.top_k([[1.0, 2.0]], 3)[0]


def in_top_k_with_ties(tf):
    predictions = [[0.1, 0.5, 0.5, 0.2], [0.4, 0.3, 0.2, 0.1], [np.nan, 0.3, 0.2, 0.1], [0.1, np.inf, 0.2, 0.3]]
    return tf.nn.in_top_k(predictions, [2, 1, 1, 3], 1), tf.nn.in_top_k(predictions, [1, 1, 9, 3], 2)


def sorting(tf):
    return tf.sort(TIES, axis=-1), tf.sort(TIES, axis=0, direction="DESCENDING"), tf.sort([[3, 1, 2]])


def sorting_by_places(tf):
    return tf.argsort(TIES, stable=True), tf.argsort([3, 1, 2], direction="DESCENDING")


def unique_values(tf):
    y, places, counts = tf.unique_with_counts([3, 1, 3, 2, 1])
    return y, places, counts, tf.unique([5, 5, 4], out_idx=tf.int64)[1]


def unique_strings(tf):
    y, places = tf.unique(["b", "a", "b", ""])
    return y, places


def unique_of_nothing(tf):
    y, places = tf.unique(tf.zeros([0]))
    return y, places


def unique_of_a_matrix_is_refused(tf):
    return tf.unique(tf.placeholder_with_default([[1, 2]], [1, 2]))[0]


def difference_of_lists(tf):
    out, places = tf.setdiff1d([1, 2, 3, 4, 5, 2], [2, 4])
    return out, places


def where_positions(tf):
    return tf.where([[True, False], [False, True]]), tf.where([0.0, 1.0, np.nan]), tf.where(tf.zeros([0], tf.bool))


def where_chooses_rows(tf):
    return tf.where([True, False], [[1, 2], [3, 4]], [[5, 6], [7, 8]]), tf.where(True, [1], [2])


def where_of_other_shapes_is_refused(tf):
    return tf.where([True, False, True], [[1, 2], [3, 4]], [[5, 6], [7, 8]])


def boolean_masks(tf):
    x = tf.constant([[1, 2], [3, 4], [5, 6]])
    return (
        tf.boolean_mask(x, [True, False, True]),
        tf.boolean_mask(x, [[True, False]] * 3),
        tf.boolean_mask(x, [False, True], axis=1),
    )


def histogram(tf):
    return tf.histogram_fixed_width([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5)


def bincount(tf):
    return tf.bincount([1, 1, 3, 0]), tf.bincount([1, 5], minlength=4), tf.bincount([1, 5], maxlength=3)


def confusion(tf):
    return tf.confusion_matrix([0, 1, 2, 1], [0, 2, 2, 1]), tf.confusion_matrix(
        [1, 1], [0, 1], num_classes=3, weights=[0.5, 2.0]
    )


def searching_in_sorted_rows(tf):
    return tf.searchsorted([[1.0, 3.0, 3.0, 7.0]], [[0.0, 3.0, 8.0]]), tf.searchsorted([1, 3, 5], [3], side="right")


def inverting_a_permutation(tf):
    return tf.invert_permutation([3, 0, 2, 1])


def inverting_what_is_no_permutation(tf):
    return tf.invert_permutation(tf.placeholder_with_default([0, 0, 2], [3]))
