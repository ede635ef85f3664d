"""Padding with zeros is a part of the convolutions that follow it."""

import pytest

import thalweg as tf
from tests.deploy.onnx_export.running import BATCH, case, check, random, types

IMAGES = random(2, 7, 9, 3)
FILTER = random(3, 3, 3, 5)


def conv(x, padding="VALID", stride=1):
    return tf.nn.conv2d(x, FILTER, stride, padding)


def pad(x, height=(1, 1), width=(1, 1), **options):
    return tf.pad(x, [[0, 0], height, width, [0, 0]], **options)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: conv(pad(x)),  # of the input, before it is transposed
        lambda x: conv(pad(x, (0, 3), (2, 1)), stride=2),
        lambda x: conv(pad(x), "SAME"),
        lambda x: conv(pad(tf.nn.relu(conv(x)[..., :3]), (1, 0), (0, 4))),
        lambda x: conv(pad(x)) + conv(pad(x), "VALID", 1) * 2.0,
        lambda x: tf.nn.depthwise_conv2d(pad(x), FILTER, [1, 1, 1, 1], "VALID"),
        lambda x: conv(tf.pad(x, [[0, 0], [1, 1], [0, 0], [0, 0]], constant_values=0.0)),
        lambda x: tf.cond(x[0, 0, 0, 0] > 0.0, lambda: conv(pad(x * 2.0)), lambda: conv(pad(x * 3.0))),
    ],
)
def test_zeros_before_a_convolution_are_its_padding(build):
    assert "Pad" not in types(check(case("Pad", build, IMAGES, atol=1e-4)))


@pytest.mark.parametrize(
    ("op", "build"),
    [
        ("PadV2", lambda x: conv(pad(x, constant_values=1.0))),
        ("MirrorPad", lambda x: conv(pad(x, mode="REFLECT"))),
        ("Pad", lambda x: conv(tf.pad(x, [[0, 1], [0, 0], [0, 0], [0, 0]]))),  # another image
        ("Pad", lambda x: conv(tf.pad(x[..., :2], [[0, 0], [1, 1], [1, 1], [0, 1]]))),  # another channel
        ("Pad", lambda x: conv(pad(x, (tf.shape(x)[0], 1)))),
        ("Pad", lambda x: tf.nn.max_pool(pad(x), 3, 2, "VALID")),
    ],
)
def test_other_padding_stays(op, build):
    assert "Pad" in types(check(case(op, build, IMAGES, atol=1e-4), BATCH))


def test_other_users_of_padded_images_take_them_as_they_are():
    def build(x):
        padded = pad(x)
        return conv(padded), padded * 2.0

    found = types(check(case("Pad", build, IMAGES, atol=1e-4)))
    assert found.count("Pad") == found.count("Conv") == 1
