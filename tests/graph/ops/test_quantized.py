"""Expected numbers are TensorFlow's own."""

import numpy as np
import pytest

from thalweg._src.base import errors
from thalweg._src.graph.ops import quantized
from thalweg._src.graph.ops.constants import constant
from thalweg._src.runtime.session.session import Session

STEPS = np.arange(0, 240, 20, dtype=np.uint8).reshape(3, 4)
WIDE = np.array([-70000, -3, 0, 9, 50000, 90000], np.int32)
IMAGE = np.arange(0, 240, 10, dtype=np.uint8).reshape(1, 4, 6, 1)
PRODUCT = (-297229.59375, 297229.59375)


def q(array: np.ndarray, dtype: str = "quint8"):
    return constant(array.view(np.dtype([(dtype, array.dtype)])), dtype)


def check(outputs, expected, low: float, high: float) -> None:
    with Session() as session:
        value, first, last = session.run(list(outputs))
    assert value.tolist() == expected
    assert outputs[0].shape == value.shape
    assert (first, last) == (pytest.approx(low, rel=1e-5), pytest.approx(high, rel=1e-5))


def test_relu() -> None:
    relu = quantized.quantized_relu_op.many(q(STEPS), -1.0, 2.0)
    check(relu, [[85, 85, 85, 85], [85, 100, 120, 140], [160, 180, 200, 220]], -1, 2)
    six = [[26, 26, 40, 60], [80, 100, 120, 140], [160, 179, 179, 179]]
    check(quantized.quantized_relu6_op.many(q(STEPS), -1.0, 9.0), six, -1, 9)
    check(quantized.quantized_relu_x(q(STEPS), 6.0, -1.0, 9.0), six, -1, 9)


def test_products() -> None:
    matmul = quantized.quantized_matmul_op.many(q(STEPS), q(STEPS), -1.0, 2.0, 0.0, 3.0, transpose_b=True)
    check(matmul, [[-4600, -22200, -39800], [5000, 13000, 21000], [14600, 48200, 81800]], *PRODUCT)
    each = quantized.quantized_mul_op.many(q(STEPS), q(STEPS[2]), -1.0, 2.0, 0.0, 3.0)
    expected = [[-13600, -11700, -9000, -5500], [-800, 2700, 7000, 12100], [12000, 17100, 23000, 29700]]
    check(each, expected, *PRODUCT)


def test_convolution() -> None:
    filter = q(np.ascontiguousarray(STEPS[:2, :2]).reshape(2, 2, 1, 1))
    result = quantized.quantized_conv2d(q(IMAGE), filter, -1.0, 2.0, 0.0, 3.0, [1, 2, 2, 1], "SAME")
    check(result, [[[[-5000], [-1000], [3000]], [[19000], [23000], [27000]]]], *PRODUCT)


def test_bias() -> None:
    result = quantized.quantized_bias_add_op.many(q(STEPS), q(STEPS[2]), -1.0, 2.0, 0.0, 3.0, out_type="qint32")
    expected = [[4819, 7389, 9959, 12529], [9959, 12529, 15099, 17669], [15099, 17669, 20239, 22809]]
    check(result, expected, -393216, 393216)


def test_pools() -> None:
    largest = quantized.quantized_max_pool(q(IMAGE), -1.0, 2.0, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    check(largest, [[[[70], [90], [110]], [[190], [210], [230]]]], -1, 2)
    mean = quantized.quantized_avg_pool(q(IMAGE), -1.0, 2.0, [1, 3, 2, 1], [1, 2, 2, 1], "SAME")
    check(mean, [[[[65], [85], [105]], [[155], [175], [195]]]], -1, 2)


def test_other_ranges() -> None:
    wide = q(WIDE, "qint32")
    narrow = quantized.requantize_op.many(wide, -9000.0, 9000.0, -0.2, 0.3, out_type="quint8")
    check(narrow, [0, 102, 102, 102, 209, 255], -0.2, 0.3)
    signed = quantized.requantize_op.many(wide, -9000.0, 9000.0, -0.2, 0.3, out_type="qint8")
    check(signed, [-128, -26, -26, -26, 81, 127], -0.2, 0.3)
    shrunk = quantized.quantize_down_op.many(wide, -9000.0, 9000.0, out_type="quint8")
    check(shrunk, [0, 112, 112, 112, 191, 255], -0.293365, 0.377188)
    with Session() as session:
        ends = session.run(quantized.requantization_range_op.many(wide, -9000.0, 9000.0))
        assert list(ends) == pytest.approx([-0.293365, 0.377188], rel=1e-5)
        with pytest.raises(errors.InvalidArgumentError, match="starts at or below 0"):
            session.run(quantized.requantize_op.many(wide, -1.0, 1.0, 0.5, 0.7, out_type="quint8"))


def test_concat_and_reshape() -> None:
    joined = quantized.quantized_concat(0, [q(STEPS), q(STEPS)], [-1.0, 0.0], [2.0, 3.0])
    first = [[0, 15, 30, 45], [60, 75, 90, 105], [120, 135, 150, 165]]
    check(joined, [*first, [64, 79, 94, 109], [124, 139, 154, 169], [184, 199, 214, 229]], -1, 3)
    above = quantized.quantized_concat(0, [q(STEPS[:1]), q(STEPS[:1])], [1.0, 1.0], [2.0, 2.0])
    check(above, [[128, 138, 148, 158]] * 2, 0, 2)
    flat = quantized.quantized_reshape_op.many(q(STEPS), [2, -1], -1.0, 2.0)
    check(flat, STEPS.reshape(2, 6).tolist(), -1, 2)


def test_ranges_have_a_length() -> None:
    for product in (quantized.quantized_mul_op, quantized.quantized_matmul_op):
        outputs = product.many(q(STEPS[:, :3]), q(STEPS[:, :3]), 1.0, 1.0, -1.0, 2.0)
        with Session() as session, pytest.raises(errors.InvalidArgumentError, match="end of a range"):
            session.run(outputs)
