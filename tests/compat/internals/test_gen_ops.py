"""tensorflow.python.ops.gen_*_ops."""

import pytest
from thalweg.python.ops import gen_array_ops, gen_math_ops, gen_nn_ops, gen_random_ops
from thalweg.python.training import training_ops

import thalweg as tf
from thalweg._src.compat.internals.gen_ops import function_name


@pytest.mark.parametrize(
    ("op_type", "expected"),
    [
        ("MatMul", "mat_mul"),
        ("Conv2DBackpropInput", "conv2d_backprop_input"),
        ("FusedBatchNormV3", "fused_batch_norm_v3"),
        ("TopKV2", "top_kv2"),
        ("LRN", "lrn"),
        ("L2Loss", "l2_loss"),
        ("RGBToHSV", "rgb_to_hsv"),
    ],
)
def test_names(op_type, expected):
    assert function_name(op_type) == expected


def test_arguments_are_positional_or_keywords():
    x = tf.constant([[1.0, -2.0]])
    product = gen_math_ops.mat_mul(x, x, False, transpose_b=True, name="product")
    mask = gen_nn_ops.relu_grad(tf.ones_like(x), x)
    with tf.Session() as session:
        assert session.run(product).tolist() == [[5.0]] and product.op.name == "product"
        assert session.run(mask).tolist() == [[1.0, 0.0]]


def test_attributes_without_a_default_come_first():
    noise = gen_random_ops.random_uniform([2], tf.float64, 1, 2)
    assert (noise.dtype, noise.op.get_attr("seed"), noise.op.get_attr("seed2")) == (tf.float64, 1, 2)


def test_underscored_names_of_earlier_versions():
    assert gen_array_ops._fill is gen_array_ops.fill and gen_random_ops._random_uniform is gen_random_ops.random_uniform
    assert callable(training_ops.resource_apply_adam)


def test_errors():
    with pytest.raises(TypeError, match="takes 3 arguments"):
        gen_array_ops.fill([1], 2, "x", 4)
    with pytest.raises(TypeError, match="value twice"):
        gen_array_ops.fill([1], 2, value=3)
    with pytest.raises(AttributeError):
        _ = gen_array_ops.there_is_no_such_op
    assert {"fill", "mat_mul"} <= set(dir(gen_array_ops))
