"""Transposes around convolutions cancel, and leave the values as they are."""

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.onnx_export.running import BATCH, STATIC, case, check, random, types

IMAGES = random(2, 8, 8, 3)


def _conv(x, filters=4, stride=1):
    return tf.nn.conv2d(x, random(3, 3, x.shape[-1].value, filters), stride, "SAME")


def _residual(x):
    first = tf.nn.relu(tf.nn.bias_add(_conv(x), random(4)))
    second = tf.nn.relu(_conv(first) * 0.5 + random(4) + first)
    return tf.nn.max_pool(second, 2, 2, "SAME")


def _inception(x):
    branches = tf.concat([_conv(x, 2), tf.nn.relu(_conv(x, 5)), tf.nn.avg_pool(_conv(x, 3), 3, 1, "SAME")], 3)
    return _conv(tf.pad(branches, [[0, 0], [1, 1], [2, 0], [0, 0]]))


def _squeezed(x):
    found = tf.nn.relu6(_conv(x, 6))
    weights = tf.reduce_mean(found, [1, 2], keepdims=True)
    return _conv(found * tf.sigmoid(_conv(weights, 6)))


def _quantized(x):
    found = tf.fake_quant_with_min_max_vars(_conv(x), -1.0, 1.3)
    low, high = np.float32([-1, -2, -1, -3]), np.float32([1, 2, 3, 1])
    return _conv(tf.fake_quant_with_min_max_vars_per_channel(tf.sin(found), low, high))


def _pieces(x):
    one, two = tf.split(_conv(x), 2, axis=3)
    return _conv(tf.concat([tf.maximum(one, 0.1), tf.where(two > 0.0, two, -two)], 3))


@pytest.mark.parametrize("mode", [STATIC, BATCH])
@pytest.mark.parametrize("build", [_residual, _inception, _squeezed, _quantized, _pieces])
def test_one_transpose_is_left_at_each_end(build, mode):
    model = check(case("Conv2D", build, IMAGES), mode)
    assert types(model).count("Transpose") == 2


@pytest.mark.parametrize("mode", [STATIC, BATCH])
def test_none_is_left_after_a_mean_over_pixels(mode):
    def build(x):
        return tf.matmul(tf.reduce_mean(tf.nn.relu(_conv(x)), [1, 2]), random(4, 5))

    model = check(case("Conv2D", build, IMAGES), mode)
    assert types(model) == ["Transpose", "Conv", "Relu", "ReduceMean", "MatMul"]


def test_data_with_channels_first_needs_no_transpose():
    def build(x):
        return tf.transpose(_conv(tf.transpose(x, [0, 2, 3, 1])), [0, 3, 1, 2])

    assert types(check(case("Conv2D", build, random(2, 3, 8, 8)))) == ["Conv"]


def test_a_value_of_the_model_in_both_layouts_is_kept_in_both():
    def build(x):
        found = _conv(x)
        return [found, tf.nn.relu(found), _conv(found) + tf.reshape(x[..., :1], [2, 8, 8, 1])]

    check(case("Conv2D", build, IMAGES))


def test_branches_of_a_conditional_keep_their_layout():
    def build(x):
        return tf.cond(tf.reduce_sum(x) > 0, lambda: _conv(tf.nn.relu(_conv(x))), lambda: _conv(x, 4))

    model = check(case("Conv2D", build, IMAGES))
    assert types(model).count("Transpose") == 4
