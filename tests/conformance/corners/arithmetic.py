"""Corners of arithmetic: signs, zeros, types, saturation, NaN."""

import numpy as np

SIGNS = ([7, -7, 7, -7, 6, -6, 0], [2, 2, -2, -2, 3, 3, -5])
REALS = ([7.5, -7.5, 7.5, -7.5, 6.0, 0.0, -0.0], [2.0, 2.0, -2.0, -2.0, -3.0, 5.0, 5.0])
AWKWARD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5], np.float32)


def floor_division_of_integers(tf):
    x, y = (tf.constant(v) for v in SIGNS)
    return x // y, tf.floordiv(x, y), tf.floor_div(x, y)


def remainder_of_integers(tf):
    x, y = (tf.constant(v) for v in SIGNS)
    return x % y, tf.mod(x, y), tf.floormod(x, y), tf.truncatemod(x, y)


def true_division_of_integers(tf):
    x, y = (tf.constant(v) for v in SIGNS)
    return x / y, tf.truediv(x, y), tf.divide(x, y), tf.div(x, y), tf.truncatediv(x, y)


def true_division_of_narrow_integers(tf):
    x, y = tf.constant([7, 9], tf.int8), tf.constant([2, 4], tf.int8)
    z = tf.constant([7, 9], tf.uint16)
    return x / y, tf.truediv(z, z), tf.truediv(tf.constant([7], tf.int64), tf.constant([2], tf.int64))


def division_of_reals(tf):
    x, y = (tf.constant(v) for v in REALS)
    return x // y, x % y, tf.floordiv(x, y), tf.truncatediv(x, y), tf.truncatemod(x, y), x / y


def division_of_reals_by_zero(tf):
    x = tf.constant([1.0, -1.0, 0.0, np.nan])
    return x / 0.0, x // 0.0, x % 0.0, tf.div_no_nan(x, tf.zeros(4)), tf.math.divide_no_nan(0.0, 0.0)


def division_of_integers_by_zero(tf):
    return tf.constant([1, 2]) // tf.constant([1, 0])


def remainder_of_integers_by_zero(tf):
    return tf.constant([1, 2]) % tf.placeholder_with_default([1, 0], [2])


def division_of_a_python_number(tf):
    x = tf.constant([3, -4])
    return 7 // x, 7 % x, 7 / x, x // 2, x % 3, x / 2


def least_integer_negated(tf):
    least = tf.constant([-(2**31), 2**31 - 1], tf.int32)
    return -least, tf.abs(least), least - 1, least + 1, least * 2


def integer_power(tf):
    return tf.pow(tf.constant([2, -3, 0, 5]), tf.constant([3, 3, 0, 1])), tf.constant([2, 3]) ** 2


def integer_to_a_negative_power(tf):
    return tf.pow(tf.placeholder_with_default([2, 3], [2]), tf.placeholder_with_default([-1, 2], [2]))


def power_of_zero(tf):
    x = tf.constant([0.0, -0.0, 2.0, -2.0, np.inf])
    return x**0.0, x**2.0, x**-1.0, x**0.5, x**3.0


def sign_of_numbers(tf):
    return tf.sign(AWKWARD[1:]), tf.sign([3, 0, -3]), tf.sign(tf.constant([3 + 4j, 0j], tf.complex64))


def absolute_of_complex(tf):
    z = tf.constant([3 + 4j, -1j, 0j], tf.complex64)
    return tf.abs(z), tf.math.angle(z), tf.conj(z), tf.real(z), tf.imag(z)


def rounding_half(tf):
    x = tf.constant([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997])
    return tf.round(x), tf.rint(x), tf.floor(x), tf.ceil(x), tf.cast(x, tf.int32)


def rounding_of_awkward_numbers(tf):
    return tf.round(AWKWARD), tf.floor(AWKWARD), tf.ceil(AWKWARD), tf.is_nan(AWKWARD), tf.is_inf(AWKWARD)


def maximum_with_nan(tf):
    x, y = tf.constant([np.nan, 1.0, np.nan, -0.0]), tf.constant([1.0, np.nan, np.nan, 0.0])
    return tf.is_nan(tf.maximum(x, y)), tf.is_nan(tf.minimum(x, y))


def comparison_with_nan(tf):
    x = tf.constant([np.nan, 1.0, np.inf])
    y = tf.constant([np.nan, np.nan, np.inf])
    return tf.equal(x, y), tf.not_equal(x, y), x < y, x >= y, tf.greater(x, y), tf.less_equal(x, y)


def equality_of_tensors_is_identity(tf):
    x, y = tf.constant(1), tf.constant(1)
    return (x == y) is False or (x == y) is True, hash(x) == hash(x), x in [x]


def clipping(tf):
    x = tf.constant([-np.inf, -5.0, 0.5, 5.0, np.inf])
    return tf.clip_by_value(x, -1.0, 1.0), tf.clip_by_value(tf.constant([1, 5, 9]), 2, 7)


def clipping_with_limits_for_each(tf):
    x = tf.constant([[1.0, 5.0], [9.0, -3.0]])
    return tf.clip_by_value(x, tf.constant([0.0, 1.0]), tf.constant([[4.0], [5.0]]))


def clipping_with_crossed_limits(tf):
    return tf.clip_by_value(tf.constant([0.0, 1.0, 2.0, 3.0]), tf.constant(2.0), tf.constant(1.0))


def saturating_casts(tf):
    x = tf.constant([-300.5, -1.0, 0.4, 254.6, 255.4, 300.0, 1e10])
    return tf.saturate_cast(x, tf.uint8), tf.saturate_cast(x, tf.int8), tf.saturate_cast(x, tf.int32)


def saturating_casts_of_integers(tf):
    x = tf.constant([-1, 0, 255, 256, 70000])
    return tf.saturate_cast(x, tf.uint8), tf.saturate_cast(x, tf.int16), tf.saturate_cast(x, tf.uint16)


def casts_of_reals(tf):
    x = tf.constant([-2.9, -0.1, 0.0, 0.9, 2.9])
    return tf.cast(x, tf.int32), tf.cast(x, tf.bool), tf.cast(x, tf.float16), tf.cast(x, tf.complex64)


def casts_of_integers(tf):
    x = tf.constant([-1, 0, 128, 256, 300])
    return tf.cast(x, tf.uint8), tf.cast(x, tf.int8), tf.cast(x, tf.bool), tf.cast(x, tf.float32), tf.to_int64(x)


def cast_of_complex_to_real(tf):
    return tf.cast(tf.constant([1.5 + 2j, -3j], tf.complex64), tf.float32)


def cast_to_the_same_type_is_the_tensor(tf):
    x = tf.constant([1.0])
    return tf.cast(x, tf.float32) is x, tf.to_float(x) is x


def mixed_types_are_refused(tf):
    return tf.constant([1.0]) + tf.constant([1])


def mixed_widths_are_refused(tf):
    return tf.constant([1], tf.int64) * tf.constant([1], tf.int32)


def python_float_with_an_integer_tensor(tf):
    return tf.constant([1, 2]) * 1.5


def python_integer_with_a_float_tensor(tf):
    return tf.constant([1.0, 2.0]) * 3, 3 - tf.constant([1.0]), tf.constant([1.0]) + np.int64(2)


def constants_take_types(tf):
    values = [1, 1.5, True, "a", [1, 2.5], 2**40, np.float64(1.5), np.int16(3), 1j]
    return [tf.constant(value).dtype.name for value in values]


def constant_of_a_type_and_shape(tf):
    return tf.constant(7, tf.float32, [2, 3]), tf.constant([1, 2, 3], shape=[3, 1]), tf.constant([], tf.int32)


def constant_filled_with_its_last_value(tf):
    return tf.constant([1, 2], shape=[2, 3])


def constant_of_too_many_values(tf):
    return tf.constant([1, 2, 3], shape=[2])


def constant_float_for_an_integer_type(tf):
    return tf.constant(1.5, tf.int32)


def constant_of_ragged_lists(tf):
    return tf.constant([[1, 2], [3]])


def logarithms_at_the_edge(tf):
    x = tf.constant([0.0, -1.0, np.inf, 1e-30, 1.0])
    return tf.log(x), tf.log1p(x), tf.sqrt(x), tf.rsqrt(x), tf.reciprocal(x)


def zero_times_what_is_not_a_number(tf):
    x, y = tf.constant([0.0, 0.0, 2.0]), tf.constant([np.nan, np.inf, 0.0])
    return tf.math.xlogy(x, y), tf.math.xdivy(x, y), tf.math.multiply_no_nan(y, x), x * y


def softplus_and_its_relatives_far_out(tf):
    x = tf.constant([-200.0, -30.0, 0.0, 30.0, 200.0])
    return tf.nn.softplus(x), tf.log_sigmoid(x), tf.sigmoid(x), tf.nn.elu(x), tf.nn.selu(x), tf.nn.relu6(x)


def softmax_of_large_numbers(tf):
    x = tf.constant([[1000.0, 1000.0, -1000.0], [-1e30, 0.0, 1e30]])
    return tf.nn.softmax(x), tf.nn.log_softmax(x), tf.reduce_logsumexp(x, 1)


def softmax_along_another_axis(tf):
    x = tf.reshape(tf.range(24.0), [2, 3, 4])
    return tf.nn.softmax(x, axis=1), tf.nn.softmax(x, dim=0), tf.nn.log_softmax(x, axis=-2)


def bits(tf):
    x, y = tf.constant([5, -1, 12], tf.int32), tf.constant([3, 4, 2], tf.int32)
    b = tf.bitwise
    return b.bitwise_and(x, y), b.bitwise_or(x, y), b.bitwise_xor(x, y), b.invert(x), b.left_shift(x, y)


def right_shift_keeps_the_sign(tf):
    x = tf.constant([-16, 16, -1], tf.int32)
    return tf.bitwise.right_shift(x, tf.constant([2, 2, 5], tf.int32))


def logic(tf):
    x, y = tf.constant([True, False, True]), tf.constant([[True], [False]])
    return x & y, x | y, x ^ y, ~x, tf.logical_xor(x, y), tf.logical_and(x, y)


def broadcasting_of_many_ranks(tf):
    x, y = tf.ones([2, 1, 4]), tf.constant([[1.0], [2.0], [3.0]])
    return x + y, x * 2.0, (x - y).shape.as_list(), tf.maximum(x, tf.zeros([0, 1, 1, 1])).shape.as_list()


def broadcasting_that_does_not_fit(tf):
    return tf.ones([2, 3]) + tf.ones([4])


def matrix_products_with_flags(tf):
    x, y = tf.reshape(tf.range(6.0), [2, 3]), tf.reshape(tf.range(6.0, 12.0), [2, 3])
    return (
        tf.matmul(x, y, transpose_b=True),
        tf.matmul(x, y, transpose_a=True),
        tf.matmul(x, tf.transpose(y)),
        tf.matmul(tf.cast(x, tf.int32), tf.cast(y, tf.int32), transpose_b=True),
    )


def matrix_products_of_batches(tf):
    x, y = tf.reshape(tf.range(12.0), [2, 2, 3]), tf.reshape(tf.range(6.0), [1, 3, 2])
    return tf.matmul(x, y), tf.matmul(x, x, transpose_b=True), x @ y


def matrix_product_of_complex_adjoint(tf):
    x = tf.constant([[1 + 2j, 3j], [0.5, -1j]], tf.complex64)
    return tf.matmul(x, x, adjoint_a=True), tf.matmul(x, x, transpose_b=True)


def matrix_product_over_nothing(tf):
    return tf.matmul(tf.ones([2, 0]), tf.ones([0, 3])), tf.matmul(tf.ones([0, 2]), tf.ones([2, 3]))


def matrix_product_of_vectors_is_refused(tf):
    return tf.matmul(tf.ones([3]), tf.ones([3]))


def tensor_products(tf):
    x, y = tf.reshape(tf.range(24.0), [2, 3, 4]), tf.reshape(tf.range(12.0), [4, 3])
    return tf.tensordot(x, y, [[2, 1], [0, 1]]), tf.tensordot(x, y, 1), tf.tensordot(x, y, 0).shape.as_list()


def einsum_of_several_forms(tf):
    x, y = tf.reshape(tf.range(6.0), [2, 3]), tf.reshape(tf.range(12.0), [3, 4])
    return tf.einsum("ij,jk->ik", x, y), tf.einsum("ij->ji", x), tf.einsum("ij,ij->i", x, x), tf.einsum("ij->", x)


def sums_of_several(tf):
    x = [tf.constant([1, 2]), tf.constant([3, 4]), tf.constant([5, 6])]
    return tf.add_n(x), tf.accumulate_n(x), tf.add_n(x[:1]), sum(x)


def sums_of_several_shapes_are_refused(tf):
    return tf.add_n([tf.ones([2]), tf.ones([3])])


def linspace_and_range(tf):
    return (
        tf.linspace(1.0, 2.0, 5),
        tf.lin_space(3.0, -1.0, 3),
        tf.range(3, 12, 4),
        tf.range(5.0, 1.0, -1.5),
        tf.range(3),
    )


def range_of_nothing(tf):
    return tf.range(3, 3), tf.range(0), tf.range(2, 2, -1)


def range_the_wrong_way(tf):
    return tf.range(3, 1)
