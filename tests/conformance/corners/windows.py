"""Corners of windows: padding with even kernels, strides, dilations, pools, channels."""

import numpy as np


def _image(tf, height=5, width=6, channels=2):
    return tf.reshape(tf.range(float(height * width * channels)), [1, height, width, channels]) / 10.0


def _filter(tf, *shape):
    return tf.reshape(tf.sin(tf.range(float(np.prod(shape)))), shape)


def same_padding_of_even_kernels(tf):
    x = _image(tf)
    return [tf.nn.conv2d(x, _filter(tf, k, k, 2, 3), [1, 1, 1, 1], "SAME") for k in (1, 2, 3, 4)]


def same_padding_with_strides(tf):
    x = _image(tf)
    return [tf.nn.conv2d(x, _filter(tf, k, k, 2, 1), [1, s, s, 1], "SAME") for k, s in ((2, 2), (3, 2), (4, 3), (1, 2))]


def valid_padding_with_strides(tf):
    x = _image(tf)
    return [
        tf.nn.conv2d(x, _filter(tf, k, k, 2, 1), [1, s, s, 1], "VALID") for k, s in ((2, 2), (3, 2), (4, 3), (1, 2))
    ]


def kernel_larger_than_the_image(tf):
    return tf.nn.conv2d(_image(tf), _filter(tf, 7, 7, 2, 1), [1, 1, 1, 1], "SAME")


def kernel_larger_than_the_image_without_padding(tf):
    return tf.nn.conv2d(_image(tf), _filter(tf, 7, 7, 2, 1), [1, 1, 1, 1], "VALID")


def explicit_padding(tf):
    return tf.nn.conv2d(_image(tf), _filter(tf, 3, 3, 2, 1), [1, 2, 1, 1], [[0, 0], [2, 0], [0, 1], [0, 0]])


def dilated_kernels(tf):
    x = _image(tf, 9, 9, 1)
    return (
        tf.nn.conv2d(x, _filter(tf, 3, 3, 1, 1), [1, 1, 1, 1], "SAME", dilations=[1, 2, 2, 1]),
        tf.nn.conv2d(x, _filter(tf, 2, 3, 1, 1), [1, 1, 1, 1], "VALID", dilations=[1, 3, 2, 1]),
        tf.nn.atrous_conv2d(x, _filter(tf, 2, 2, 1, 1), 2, "SAME"),
    )


def channels_that_differ(tf):
    return tf.nn.conv2d(_image(tf), _filter(tf, 2, 2, 3, 1), [1, 1, 1, 1], "SAME")


def convolution_of_no_examples(tf):
    return tf.nn.conv2d(tf.zeros([0, 5, 5, 2]), _filter(tf, 3, 3, 2, 4), [1, 1, 1, 1], "SAME")


def static_shapes_of_convolutions(tf):
    x = tf.placeholder(tf.float32, [None, None, 7, 2])
    y = tf.nn.conv2d(x, _filter(tf, 3, 3, 2, 4), [1, 2, 2, 1], "SAME")
    z = tf.nn.max_pool(x, [1, 2, 3, 1], [1, 1, 2, 1], "VALID")
    return y.shape.as_list(), z.shape.as_list()


def convolution_of_sequences(tf):
    x = tf.reshape(tf.range(14.0), [1, 7, 2])
    return tf.nn.conv1d(x, _filter(tf, 2, 2, 3), 2, "SAME"), tf.nn.conv1d(
        x, filters=_filter(tf, 3, 2, 1), stride=1, padding="VALID"
    )


def convolution_of_volumes(tf):
    x = tf.reshape(tf.range(2.0 * 3 * 4 * 2), [1, 2, 3, 4, 2])
    return tf.nn.conv3d(x, _filter(tf, 2, 2, 2, 2, 1), [1, 1, 2, 1, 1], "SAME")


def transposed_convolution(tf):
    x = _image(tf, 2, 3, 1)
    return (
        tf.nn.conv2d_transpose(x, _filter(tf, 3, 3, 2, 1), [1, 4, 6, 2], [1, 2, 2, 1], "SAME"),
        tf.nn.conv2d_transpose(x, _filter(tf, 2, 2, 2, 1), [1, 4, 6, 2], [1, 2, 2, 1], "VALID"),
    )


def transposed_convolution_to_an_odd_size(tf):
    return tf.nn.conv2d_transpose(_image(tf, 2, 3, 1), _filter(tf, 3, 3, 2, 1), [1, 3, 5, 2], [1, 2, 2, 1], "SAME")


def transposed_convolution_to_a_wrong_size(tf):
    return tf.nn.conv2d_transpose(_image(tf, 2, 3, 1), _filter(tf, 3, 3, 2, 1), [1, 7, 5, 2], [1, 2, 2, 1], "SAME")


def depthwise_convolution(tf):
    x = _image(tf)
    return (
        tf.nn.depthwise_conv2d(x, _filter(tf, 3, 2, 2, 2), [1, 1, 1, 1], "SAME"),
        tf.nn.depthwise_conv2d(x, _filter(tf, 2, 2, 2, 1), [1, 2, 2, 1], "VALID"),
        tf.nn.depthwise_conv2d(x, _filter(tf, 2, 2, 2, 1), [1, 1, 1, 1], "SAME", rate=[2, 2]),
    )


def separable_convolution(tf):
    return tf.nn.separable_conv2d(_image(tf), _filter(tf, 3, 3, 2, 2), _filter(tf, 1, 1, 4, 3), [1, 2, 2, 1], "SAME")


def convolution_of_any_rank(tf):
    x = _image(tf, 6, 6, 1)
    return tf.nn.convolution(x, _filter(tf, 2, 2, 1, 1), "SAME", dilation_rate=[2, 2]), tf.nn.convolution(
        x, _filter(tf, 3, 3, 1, 1), "VALID", strides=[2, 1]
    )


def largest_with_same_padding(tf):
    x = -_image(tf)
    return [tf.nn.max_pool(x, [1, k, k, 1], [1, s, s, 1], "SAME") for k, s in ((2, 2), (3, 2), (2, 1), (4, 3))]


def means_leave_the_padding_out(tf):
    x = _image(tf)
    return [tf.nn.avg_pool(x, [1, k, k, 1], [1, s, s, 1], "SAME") for k, s in ((2, 2), (3, 2), (2, 1), (4, 3))]


def pools_apart(tf):
    x = _image(tf)
    return tf.nn.max_pool(x, [1, 2, 1, 1], [1, 3, 4, 1], "SAME"), tf.nn.avg_pool(x, [1, 1, 2, 1], [1, 3, 3, 1], "VALID")


def pool_larger_than_the_image(tf):
    return tf.nn.max_pool(_image(tf), [1, 7, 2, 1], [1, 1, 1, 1], "VALID")


def pools_of_any_rank(tf):
    x = tf.reshape(tf.range(14.0), [1, 7, 2])
    return (
        tf.nn.pool(x, [2], "MAX", "SAME"),
        tf.nn.pool(x, [3], "AVG", "VALID", strides=[2]),
        tf.nn.pool(x, [2], "MAX", "VALID", dilation_rate=[2]),
    )


def places_of_the_largest(tf):
    values, places = tf.nn.max_pool_with_argmax(_image(tf, 4, 4, 2), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    return values, places


def places_of_the_largest_among_equals(tf):
    values, places = tf.nn.max_pool_with_argmax(
        tf.ones([2, 3, 3, 1]), [1, 2, 2, 1], [1, 1, 1, 1], "SAME", include_batch_in_index=True
    )
    return values, places


def gradient_of_pools_with_equals(tf):
    x = tf.ones([1, 3, 3, 1])
    y = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    return tf.gradients(y, x)[0]


def gradient_of_same_padding(tf):
    x, w = _image(tf), _filter(tf, 2, 4, 2, 3)
    y = tf.nn.conv2d(x, w, [1, 2, 1, 1], "SAME")
    return tf.gradients(tf.reduce_sum(tf.sin(y)), [x, w])


def gradient_of_mean_pools(tf):
    x = _image(tf)
    return tf.gradients(tf.reduce_sum(tf.square(tf.nn.avg_pool(x, [1, 3, 2, 1], [1, 2, 2, 1], "SAME"))), x)[0]


def batch_normalization(tf):
    x = _image(tf)
    y, mean, variance = tf.nn.fused_batch_norm(x, [1.0, 2.0], [0.5, -0.5], epsilon=0.01)
    z, _, _ = tf.nn.fused_batch_norm(x, [1.0, 2.0], [0.5, -0.5], [1.0, 2.0], [3.0, 4.0], is_training=False)
    return y, mean, variance, z, tf.nn.batch_normalization(x, 1.0, 2.0, None, 3.0, 0.1)


def batch_normalization_of_one_example(tf):
    y, mean, variance = tf.nn.fused_batch_norm(tf.ones([1, 1, 1, 2]), [1.0, 1.0], [0.0, 0.0])
    return y, mean, variance


def local_response(tf):
    return tf.nn.lrn(_image(tf, 2, 2, 6), depth_radius=2, bias=1.0, alpha=0.5, beta=0.75)


def biases(tf):
    return tf.nn.bias_add(tf.ones([2, 3]), [1.0, 2.0, 3.0]), tf.nn.bias_add(tf.ones([1, 2, 2, 3], tf.int32), [1, 2, 3])


def bias_of_another_size(tf):
    return tf.nn.bias_add(tf.ones([2, 3]), [1.0, 2.0])


def dropout_of_nothing(tf):
    x = tf.ones([3])
    return tf.nn.dropout(x, keep_prob=1.0), tf.nn.dropout(x, rate=0.0)


def dropout_scales_what_is_left(tf):
    y = tf.nn.dropout(tf.ones([1000]), keep_prob=0.25, seed=3)
    return tf.reduce_all(tf.equal(y * (y - 4.0), 0.0)), tf.reduce_max(y)


def dropout_out_of_range(tf):
    return tf.nn.dropout(tf.ones([3]), keep_prob=1.5)


def embeddings(tf):
    table = tf.reshape(tf.range(12.0), [6, 2])
    parts = [table[::2], table[1::2]]
    return (
        tf.nn.embedding_lookup(table, [[0, 5], [2, 2]]),
        tf.nn.embedding_lookup(parts, [0, 1, 5]),
        tf.nn.embedding_lookup([table[:3], table[3:]], [0, 3, 5], partition_strategy="div"),
        tf.nn.embedding_lookup(table, [1, 4], max_norm=2.0),
    )


def activations(tf):
    x = tf.constant([-3.0, -0.5, 0.0, 0.5, 7.0])
    return (
        tf.nn.leaky_relu(x),
        tf.nn.leaky_relu(x, alpha=0.5),
        tf.nn.crelu(x),
        tf.nn.softsign(x),
        tf.nn.relu6(x),
        tf.nn.swish(x),
    )
