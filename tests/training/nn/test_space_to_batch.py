import numpy as np
import pytest

from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.convolution import conv2d, conv2d_backprop_filter, conv2d_backprop_input, convolution
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.nn.space_to_batch import (
    conv2d_backprop_filter_v2,
    conv2d_backprop_input_v2,
    required_space_to_batch_paddings,
    with_space_to_batch,
)

RNG = np.random.default_rng(0)
IMAGE, FILTER = RNG.normal(size=(1, 7, 9, 2)), RNG.normal(size=(3, 3, 2, 4))


def run(*values, feeds=None):
    with Session() as session:
        return session.run(list(values), feeds)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_dilated_convolution(padding: str, known: bool) -> None:
    with Graph().as_default():
        x = placeholder("float64", IMAGE.shape if known else [None] * 4)
        result = with_space_to_batch(
            x, [2, 3], padding, lambda x, count, how: conv2d(x, FILTER, [1] * 4, how), filter_shape=[3, 3]
        )
        expected = convolution(x, FILTER, padding, dilation_rate=[2, 3])
        found, wanted = run(result, expected, feeds={x: IMAGE})
        if known:
            assert result.shape == wanted.shape
    np.testing.assert_allclose(found, wanted)


def test_some_dimensions() -> None:
    plain = with_space_to_batch(IMAGE, [1, 1], "SAME", lambda x, count, how: (x, count, how))
    assert plain[1:] == (2, "SAME")
    halved = with_space_to_batch(IMAGE, [2], "VALID", lambda x, count, how: x, spatial_dims=[2])
    np.testing.assert_array_equal(run(halved)[0], IMAGE)
    with pytest.raises(ValueError, match="must increase"):
        with_space_to_batch(IMAGE, [2, 2], "VALID", lambda x, count, how: x, spatial_dims=[2, 1])
    with pytest.raises(ValueError, match="filter_shape"):
        with_space_to_batch(IMAGE, [2, 2], "SAME", lambda x, count, how: x)


def test_paddings() -> None:
    paddings, crops = required_space_to_batch_paddings([10, 11], [5, 3], [[0, 0], [2, 1]])
    assert [v.tolist() for v in run(paddings, crops)] == [[[0, 0], [2, 2]], [[0, 0], [0, 1]]]
    sizes = placeholder("int32", [2])
    paddings, crops = required_space_to_batch_paddings(sizes, [2, 3])
    assert paddings.shape == (2, 2)
    assert run(paddings, feeds={sizes: [3, 3]})[0].tolist() == [[0, 1], [0, 0]]


def test_gradients_by_tensors() -> None:
    grad = RNG.normal(size=(1, 4, 5, 4))
    strides = [1, 2, 2, 1]
    by_input = conv2d_backprop_input_v2(IMAGE, FILTER, grad, strides, "SAME")
    by_filter = conv2d_backprop_filter_v2(IMAGE, FILTER, grad, strides, "SAME")
    expected = [
        conv2d_backprop_input(IMAGE.shape, FILTER, grad, strides, "SAME"),
        conv2d_backprop_filter(IMAGE, FILTER.shape, grad, strides, "SAME"),
    ]
    a, b, wanted_a, wanted_b = run(by_input, by_filter, *expected)
    np.testing.assert_allclose(a, wanted_a)
    np.testing.assert_allclose(b, wanted_b)
