"""Meanings that the comparison with TensorFlow corrected, family by family."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.base import dtypes
from thalweg._src.graph.op_def import OPS


def run(*fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches[0] if len(fetches) == 1 else list(fetches))


def op(name: str, *inputs: Any, **attrs: Any) -> Any:
    return OPS.lookup(name).many(*inputs, **attrs)


def unknown(value: Any, dtype: Any = None, shape: Any = None) -> Any:
    return tf.placeholder_with_default(tf.constant(value, dtype), shape)


# -- shapes -----------------------------------------------------------------------------------------------------------


def test_static_shapes_use_what_is_known() -> None:
    x, two, three = tf.zeros([2, 3]), unknown([1, 1], shape=[2]), unknown([4, 2, 3], shape=[3])
    assert tf.broadcast_to(x, three).shape.as_list() == [None, 2, 3]
    assert tf.reshape(x, unknown([6], shape=[1])).shape.as_list() == [6]
    assert tf.tile(tf.zeros([0, 3]), two).shape.as_list() == [0, None]
    images = tf.zeros([4, 2, 3, 5])
    crops = unknown(np.zeros([2, 2], np.int32), shape=[2, 2])
    assert tf.batch_to_space_nd(images, unknown([2, 2], shape=[2]), crops).shape.as_list() == [None, None, None, 5]
    assert tf.gather(tf.zeros([2, 3]), [1, 0], axis=1, batch_dims=-1).shape.as_list() == [2, 2]


@pytest.mark.parametrize(
    "build",
    [
        lambda: op("Fill", [2, 3], tf.zeros([1])),
        lambda: op("PadV2", tf.zeros([2]), [[1, 1]], tf.zeros([1])),
        lambda: op("ConcatOffset", [0], [[1], [2]]),
        lambda: op("InTopKV2", tf.zeros([1, 2]), [0], [1]),
        lambda: op("OneHot", [0], 3, 1.0, 0.0, axis=-2),
        lambda: op("ListDiff", tf.zeros([2, 2]), tf.zeros([2])),
        lambda: op("UniqueV2", tf.zeros([2, 2]), 0),
        lambda: op("ClipByValue", tf.zeros([2, 3]), tf.zeros([3]), 1.0),
        lambda: op("ReverseSequence", tf.zeros([2, 3]), [1, 2], seq_dim=-1),
        lambda: op("StringFormat", [tf.zeros([])], template="nothing"),
        lambda: op(
            "AvgPoolGrad",
            [-1, 4, 4, 1],
            tf.zeros([1, 2, 2, 1]),
            ksize=[1, 2, 2, 1],
            strides=[1, 2, 2, 1],
            padding="SAME",
        ),
        lambda: tf.transpose(tf.zeros([2, 3]), unknown([0], shape=[1])),
        lambda: tf.broadcast_to(tf.zeros([2]), [-5, 2]),
        lambda: tf.reshape(tf.zeros([6]), unknown(np.zeros(0, np.int32), shape=[0])),
        lambda: tf.roll(tf.zeros([2, 3]), [1, 2], [0]),
        lambda: tf.scatter_nd([[0]], [1.0], [0]),
        lambda: tf.scatter_nd([[0]], [1.0], [-2]),
        lambda: tf.split(tf.zeros([]), unknown([1, 1], shape=[2]), unknown(0, shape=[]), num=2),
    ],
)
def test_invalid_shapes_are_rejected(build: Any) -> None:
    with pytest.raises(ValueError):
        build()


def test_limits_are_checked_in_the_step() -> None:
    x = tf.placeholder(tf.float32)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="ClipByValue"):
        session.run(op("ClipByValue", x, x[0], 1.0), {x: np.zeros([2, 3])})


def test_losses_broadcast() -> None:
    losses, _ = op("SoftmaxCrossEntropyWithLogits", tf.constant([1.0, 2.0]), tf.constant([[0.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_allclose(run(losses), [0.3132617, 1.3132617], rtol=1e-6)


# -- values -----------------------------------------------------------------------------------------------------------


def test_tolerance_is_included() -> None:
    assert run(op("ApproximateEqual", [1.0, 1.25], [1.0, 1.0], tolerance=0.25)).tolist() == [True, True]


@pytest.mark.parametrize("function", [tf.sqrt, tf.rsqrt, tf.reciprocal])
def test_an_infinite_slope_times_zero_is_zero(function: Any) -> None:
    x = tf.constant([0.0, 4.0])
    slope = run(tf.gradients(function(x), x, tf.constant([0.0, 1.0]))[0])
    assert slope[0] == 0.0 and np.isfinite(slope[1])


@pytest.mark.parametrize(("name", "slope"), [("TanhGrad", lambda y: 1 - y * y), ("SigmoidGrad", lambda y: y * (1 - y))])
def test_gradient_operations_do_not_conjugate(name: str, slope: Any) -> None:
    y, dy = np.array([0.5 + 0.25j], np.complex64), np.array([1 - 2j], np.complex64)
    np.testing.assert_allclose(run(op(name, y, dy)), dy * slope(y), rtol=1e-6)


def test_infinite_rows_of_segments() -> None:
    data, ids = tf.constant([-np.inf, -np.inf, 1.0]), [0, 0, 2]
    assert run(tf.segment_max(data, ids)).tolist() == [-np.inf, 0.0, 1.0]
    assert run(tf.segment_min(-data, ids)).tolist() == [np.inf, 0.0, -1.0]


def test_segments_of_complex_numbers_have_gradients() -> None:
    x = tf.constant([1 + 1j, 2j, 3], tf.complex64)
    weights = tf.constant([1.0, 1.0], tf.complex64)
    assert run(tf.gradients(tf.segment_mean(x, [0, 0, 1]), x, weights)[0]).tolist() == [0.5, 0.5, 1.0]
    assert run(tf.gradients(tf.segment_prod(x, [0, 0, 1]), x, weights)[0]).tolist() == [2j, 1 + 1j, 1.0]


def test_empty_selections_have_gradients() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert run(tf.gradients(tf.nn.top_k(x, 0)[0], x)[0]).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_gradients_of_samples_broadcast() -> None:
    assert op("RandomGammaGrad", tf.ones([2, 1]), tf.ones([3])).shape.as_list() == [2, 3]
    assert run(op("RandomGammaGrad", tf.ones([2, 1]), tf.ones([3]))).shape == (2, 3)


def test_the_second_argument_of_nextafter_has_no_gradient() -> None:
    x, y = tf.constant([1.0]), tf.constant([2.0])
    assert run(tf.gradients(tf.math.nextafter(x, y), y)[0]).tolist() == [0.0]


def test_slices_without_elements_are_equal() -> None:
    values, places = op("UniqueV2", tf.zeros([2, 0]), [0])
    assert run(values).shape == (1, 0) and run(places).tolist() == [0, 0]


def test_no_channels_are_normalized() -> None:
    assert run(tf.nn.lrn(tf.zeros([1, 2, 2, 0]))).shape == (1, 2, 2, 0)


# -- types ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [dtypes.uint16, dtypes.uint32, dtypes.uint64])
def test_unsigned_numbers(dtype: Any) -> None:
    kind = dtype.as_numpy_dtype
    x = tf.constant(np.array([[1, 2, 3], [4, 5, 6]], kind))
    assert run(op("BiasAddGrad", x)).tolist() == [5, 7, 9]
    assert run(tf.setdiff1d(x[0], x[0, :1])[0]).tolist() == [2, 3]
    assert run(tf.reverse_sequence(x, [1, 2], seq_axis=1)).tolist() == [[1, 2, 3], [5, 4, 6]]
    image = tf.constant(np.arange(4, dtype=kind).reshape(1, 2, 2, 1))
    window: dict[str, Any] = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    largest = image[:, 1:, 1:]
    assert run(op("MaxPoolGradGrad", image, largest, image, **window)).tolist() == [[[[3]]]]
    places = np.full([1, 1, 1, 1], 3, np.int64)
    assert run(op("MaxPoolGradWithArgmax", image, largest, places, **window)).ravel().tolist() == [0, 0, 0, 3]


def test_integer_convolutions_wrap_around() -> None:
    grad, w = np.array([[[[1], [2]]]], np.int32), np.array([[[[3]], [[4]]]], np.int32)
    image = op("Conv2DBackpropInput", [1, 1, 3, 1], w, grad, strides=[1, 1, 1, 1], padding="VALID")
    assert run(image).ravel().tolist() == [3, 10, 8]


def test_means_over_volumes_of_bfloat16() -> None:
    x = tf.cast(tf.reshape(tf.range(8.0), [1, 2, 2, 2, 1]), tf.bfloat16)
    y = tf.nn.avg_pool3d(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME")
    assert float(run(y).ravel()[0]) == 3.5 and run(tf.gradients(y, x)[0]).shape == (1, 2, 2, 2, 1)


def test_strings_are_rearranged() -> None:
    x = tf.constant([["a", "b"], ["c", "d"]])
    assert run(tf.pad(x, [[0, 0], [1, 0]], "REFLECT")).tolist() == [[b"b", b"a", b"b"], [b"d", b"c", b"d"]]
    assert run(tf.reverse_sequence(x, [1, 2], seq_axis=1)).tolist() == [[b"a", b"b"], [b"d", b"c"]]
    depth = tf.space_to_depth(tf.reshape(x, [1, 2, 2, 1]), 2)
    assert run(depth).ravel().tolist() == [b"a", b"b", b"c", b"d"]
    assert run(tf.depth_to_space(depth, 2)).ravel().tolist() == [b"a", b"b", b"c", b"d"]
    assert run(tf.scatter_nd([[1], [1]], ["a", "b"], [3])).tolist() == [b"", b"ab", b""]
    assert run(tf.tensor_scatter_update(x[0], [[1]], ["z"])).tolist() == [b"a", b"z"]
    assert run(tf.dynamic_stitch([[0], 1], [["a"], "b"])).tolist() == [b"a", b"b"]


def test_values_of_one_hot_have_one_type() -> None:
    with pytest.raises(TypeError, match="off_value"):
        tf.one_hot([1], 2, on_value=1.0, off_value=0)


# -- variables --------------------------------------------------------------------------------------------------------


def test_a_variable_may_change_its_shape_on_request() -> None:
    v = tf.Variable([1, 2, 3], validate_shape=False)
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(tf.assign(v, [1, 2], validate_shape=False))
        assert session.run(v).tolist() == [1, 2]


def test_scatter_into_empty_tensors() -> None:
    v = tf.get_variable("v", [2, 0], use_resource=True)
    with pytest.raises(ValueError, match="no elements"):
        op("ResourceScatterNdUpdate", v.handle, [[0]], tf.zeros([1, 0]))
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v.gather_nd([[1], [0]])).shape == (2, 0)


def test_one_ellipsis_at_most() -> None:
    with pytest.raises(ValueError, match="ellipsis"):
        tf.strided_slice(tf.zeros([2, 3]), [0, 0], [1, 1], ellipsis_mask=5)


@pytest.mark.parametrize("function", [tf.reshape, tf.broadcast_to])
def test_an_incompatible_shape_is_rejected_in_the_step(function: Any) -> None:
    x, sizes = tf.zeros([6]), tf.placeholder(tf.int32, [1])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(function(x, sizes), {sizes: [7]})


# -- what programs write ----------------------------------------------------------------------------------------------


def test_arrays_are_cast_and_python_numbers_are_not() -> None:
    assert run(tf.constant(np.array([1.5, 2.0]), tf.int32)).tolist() == [1, 2]
    assert run(tf.tile(tf.constant([7]), np.array([2.0]))).tolist() == [7, 7]
    assert run(tf.constant(np.array(["1.5"]), tf.float32)).tolist() == [1.5]
    with pytest.raises(TypeError, match=r"Expected int32, got 1\.5"):
        tf.constant([1.5], tf.int32)
    with pytest.raises(TypeError, match=r"tf\.as_string"):
        tf.constant(np.array([1]), tf.string)


def test_attributes_may_be_none_or_arrays_of_one_number() -> None:
    x = tf.ones([2, 3, 3])
    assert run(tf.matmul(x, x, adjoint_a=None, adjoint_b=None)).shape == (2, 3, 3)
    np.testing.assert_allclose(run(tf.nn.leaky_relu(tf.constant([-2.0]), np.array(0.25))), [-0.5])
