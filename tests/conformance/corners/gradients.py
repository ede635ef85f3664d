"""Corners of gradients: ties, zeros, broadcasting, what is not connected, what is sparse."""

import contextlib

import numpy as np


def broadcasting_is_summed(tf):
    x, y = tf.constant([[1.0], [2.0]]), tf.constant([3.0, 4.0, 5.0])
    return [
        tf.gradients(z, [x, y])
        for z in (x * y, x - y, x / y, tf.maximum(x, y), tf.pow(x, y), tf.squared_difference(x, y))
    ]


def broadcasting_of_a_scalar(tf):
    x, y = tf.constant(2.0), tf.constant([[3.0, 4.0]])
    return tf.gradients(x * y + x, [x, y])


def broadcasting_over_nothing(tf):
    x, y = tf.constant([1.0, 2.0]), tf.zeros([0, 2])
    return tf.gradients(x * y, [x, y])


def largest_of_equals_shares(tf):
    x = tf.constant([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    return tf.gradients(tf.reduce_max(x, 1), x)[0], tf.gradients(tf.reduce_min(x), x)[0]


def maximum_of_equals(tf):
    x, y = tf.constant([1.0, 2.0, 3.0]), tf.constant([1.0, 3.0, 2.0])
    return tf.gradients(tf.maximum(x, y), [x, y]), tf.gradients(tf.minimum(x, y), [x, y])


def absolute_at_zero(tf):
    x = tf.constant([-2.0, 0.0, 3.0])
    return [tf.gradients(f(x), x)[0] for f in (tf.abs, tf.sign, tf.nn.relu, tf.nn.relu6, tf.nn.elu, tf.nn.leaky_relu)]


def root_at_zero(tf):
    x = tf.constant([0.0, 4.0])
    return tf.gradients(tf.sqrt(x), x)[0], tf.gradients(tf.rsqrt(x), x)[0]


def root_at_zero_that_does_not_count(tf):
    x = tf.constant([0.0, 4.0])
    return tf.gradients(tf.sqrt(x) * [0.0, 1.0], x)[0], tf.gradients(tf.reciprocal(x) * [0.0, 1.0], x)[0]


def norm_at_zero(tf):
    x = tf.constant([[0.0, 0.0], [3.0, 4.0]])
    return tf.gradients(tf.norm(x, axis=1), x)[0], tf.gradients(tf.norm(x), x)[0]


def power_at_zero(tf):
    x, y = tf.constant([0.0, 0.0, 2.0, -2.0]), tf.constant([2.0, 1.0, 0.0, 3.0])
    return tf.gradients(tf.pow(x, y), [x, y])


def product_with_zeros(tf):
    x = tf.constant([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0], [1.0, 2.0, 3.0]])
    return tf.gradients(tf.reduce_prod(x, 1), x)[0], tf.gradients(tf.reduce_prod(x), x)[0]


def running_sums(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    weights = tf.constant([1.0, 10.0, 100.0])
    return [
        tf.gradients(tf.cumsum(x, exclusive=e, reverse=r), x, weights)[0] for e in (False, True) for r in (False, True)
    ]


def running_products(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    return tf.gradients(tf.cumprod(x), x)[0], tf.gradients(tf.cumprod(x, reverse=True), x)[0]


def clipping(tf):
    x = tf.constant([-2.0, -1.0, 0.0, 1.0, 2.0])
    return tf.gradients(tf.clip_by_value(x, -1.0, 1.0), x)[0], tf.gradients(tf.clip_by_norm(x, 1.0), x)[0]


def rounding_has_none(tf):
    x = tf.constant([1.2])
    return [tf.gradients(f(x), x)[0] is None for f in (tf.round, tf.floor, tf.ceil, tf.stop_gradient)]


def integers_have_none(tf):
    x = tf.constant([1.2])
    return tf.gradients(tf.cast(tf.cast(x, tf.int32), tf.float32), x)[0] is None


def what_is_not_connected(tf):
    x, y = tf.constant(1.0), tf.constant(2.0)
    zero = tf.gradients(x, [y], unconnected_gradients="zero")[0]
    return tf.gradients(x, [y])[0] is None, zero, tf.gradients(x, x)[0]


def several_outputs_add_up(tf):
    x = tf.constant([1.0, 2.0])
    return tf.gradients([x * 2.0, x * x], x)[0], tf.gradients(
        [x * 2.0, x * x], x, [tf.constant([1.0, 0.0]), tf.constant([0.0, 1.0])]
    )[0]


def given_gradient_of_a_wrong_shape(tf):
    x = tf.constant([1.0, 2.0])
    return tf.gradients(x * 2.0, x, [tf.constant([1.0, 2.0, 3.0])])[0]


def stopping_at_tensors(tf):
    x = tf.constant(3.0)
    y = x * x
    return tf.gradients(x + y, x, stop_gradients=[y])[0], tf.gradients(x + y, [x, y], stop_gradients=[x])


def second_order(tf):
    x = tf.constant([0.5, 2.0])
    functions = (tf.exp, tf.tanh, tf.sigmoid, tf.sqrt, tf.log, tf.square, tf.reciprocal, tf.nn.softplus, tf.nn.elu)
    return [tf.gradients(tf.gradients(f(x), x)[0], x)[0] for f in functions]


def second_order_through_products(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    first = tf.gradients(tf.matmul(x, tf.matmul(x, x)), x)[0]
    return first, tf.gradients(first, x)[0]


def hessian(tf):
    x = tf.constant([1.0, 2.0])
    return tf.hessians(tf.reduce_prod(x) + tf.reduce_sum(x**3.0), x)[0]


def sparse_gradients_of_gathers(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    slopes = tf.gradients(tf.gather(x, [2, 0, 2]) * [[1.0], [2.0], [3.0]], x)[0]
    return type(slopes).__name__, slopes.values, slopes.indices, tf.convert_to_tensor(slopes)


def gathers_along_another_axis(tf):
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    return tf.gradients(tf.gather(x, [2, 0, 2], axis=1), x)[0], tf.gradients(tf.gather_nd(x, [[0, 1], [0, 1]]), x)[0]


def slices(tf):
    x = tf.reshape(tf.range(12.0), [3, 4])
    return (
        tf.gradients(x[::2, 3:0:-2], x)[0],
        tf.gradients(x[1, ..., None], x)[0],
        tf.gradients(tf.slice(x, [1, 1], [2, -1]), x)[0],
    )


def joins_and_splits(tf):
    x, y = tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])
    z = tf.concat([x, y, x], 0) * [[1.0], [10.0], [100.0]]
    a, _ = tf.split(x, 2, 1)
    return tf.gradients(z, [x, y]), tf.gradients(a * 3.0, x)[0], tf.gradients(tf.stack([x, y], 1)[0, 1], [x, y])


def paddings(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    w = tf.constant([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
    return [tf.gradients(tf.pad(x, [[2, 2]], mode), x, w)[0] for mode in ("CONSTANT", "REFLECT", "SYMMETRIC")]


def choices(tf):
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    return tf.gradients(tf.where([True, False], x, y), [x, y]), tf.gradients(
        tf.where([True, False], tf.log(x - 2.0), y), x
    )[0]


def largest_k(tf):
    x = tf.constant([[1.0, 5.0, 3.0, 5.0]])
    return tf.gradients(tf.nn.top_k(x, 2)[0] * [[1.0, 10.0]], x)[0]


def segments(tf):
    x = tf.constant([1.0, 2.0, 2.0, 4.0])
    functions = (tf.segment_sum, tf.segment_mean, tf.segment_max, tf.segment_min, tf.segment_prod)
    slopes = [tf.gradients(f(x, [0, 0, 0, 1]), x)[0] for f in functions[:4]]
    return slopes, tf.gradients(tf.unsorted_segment_max(x, [0, 0, 0, -1], 2), x)[0]


def matrices_with_flags(tf):
    x, y = tf.reshape(tf.range(6.0), [2, 3]), tf.reshape(tf.range(6.0), [2, 3]) - 2.0
    z = [tf.matmul(x, y, transpose_b=True), tf.matmul(x, y, transpose_a=True), tf.matmul(x, tf.transpose(y))]
    return [tf.gradients(tf.square(p), [x, y]) for p in z]


def matrices_of_batches_broadcast(tf):
    x, y = tf.reshape(tf.range(12.0), [2, 2, 3]), tf.reshape(tf.range(6.0), [1, 3, 2])
    return tf.gradients(tf.square(tf.matmul(x, y)), [x, y])


def complex_numbers(tf):
    z = tf.constant([1 + 2j, 3 - 1j], tf.complex64)
    w = tf.constant([1j, 2 + 1j], tf.complex64)
    functions = (tf.square, tf.exp, tf.reciprocal, tf.conj, tf.log, tf.tanh, lambda x: x * w, lambda x: w / x)
    slopes = [tf.gradients(f(z), z, w)[0] for f in functions]
    return tf.gradients(tf.abs(z), z)[0], tf.gradients(tf.real(z), z)[0], slopes


def complex_numbers_need_a_given_gradient(tf):
    z = tf.constant([1 + 2j], tf.complex64)
    return tf.gradients(tf.square(z), z)[0]


def integers_as_results(tf):
    x = tf.constant([1.0, 2.0])
    return tf.gradients(tf.argmax(x), x)[0] is None


def cross_entropy_of_labels(tf):
    labels, logits = tf.constant([[0.2, 0.8]]), tf.constant([[1.0, 2.0]])
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    old = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return (
        tf.gradients(loss, [labels, logits]),
        tf.gradients(old, labels)[0] is None,
        tf.gradients(tf.gradients(loss, logits)[0], logits)[0],
    )


def custom_gradients(tf):
    @tf.custom_gradient
    def clipped(x):
        return x * 3.0, lambda dy: tf.clip_by_value(dy, -0.1, 0.1)

    x = tf.constant([1.0, 2.0])
    return tf.gradients(clipped(x), x)[0], clipped(x)


def overridden_gradients(tf):
    name = "OfATest"
    with contextlib.suppress(KeyError):  # registered by an earlier run in this process
        tf.RegisterGradient(name)(lambda op, grad: grad * 7.0)
    x = tf.constant([1.0, 2.0])
    with tf.get_default_graph().gradient_override_map({"Square": name}):
        y = tf.square(x)
    return tf.gradients(y, x)[0]


def aggregation(tf):
    x = tf.constant([1.0, 2.0])
    y = x * x + tf.exp(x) + x
    return tf.gradients(y, x, aggregation_method=tf.AggregationMethod.ADD_N)[0], tf.gradients(
        y, x, colocate_gradients_with_ops=True
    )[0]


def trapezoids_and_products(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    return tf.gradients(tf.reduce_logsumexp(x, 1), x)[0], tf.gradients(
        tf.nn.l2_normalize(x, 1), x, tf.constant([[1.0, 0.0], [0.0, 1.0]])
    )[0]


def infinite_weights(tf):
    x = tf.constant([1.0, -1.0])
    return tf.gradients(tf.nn.relu(x), x, tf.constant([np.inf, 1.0]))[0]
