"""Expected numbers are TensorFlow's own."""

import numpy as np
import pytest

from thalweg._src.base import dtypes, errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.fake_quantization import (
    fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_per_channel,
)
from thalweg._src.graph.ops.quantization import (
    dequantize,
    quantize,
    quantize_and_dequantize,
    quantize_and_dequantize_v1_op,
    quantize_and_dequantize_v2,
    quantize_and_dequantize_v3_op,
    quantize_v2,
)
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.runtime.session.session import Session

X = np.array([-7, -1.5, -0.26, 0, 0.1, 0.5, 2.49, 5.9, 9], np.float32)
QUANTIZED = {
    ("MIN_COMBINED", "qint8"): ([-128, -86, -50, -43, -40, -29, 28, 124, 127], -3.0),
    ("MIN_COMBINED", "quint8"): ([0, 43, 78, 85, 88, 99, 156, 252, 255], -3.0),
    ("MIN_COMBINED", "qint16"): ([-32768, -21846, -12816, -10923, -10195, -7282, 7208, 32039, 32767], -3.0),
    ("MIN_COMBINED", "quint16"): ([0, 10923, 19952, 21845, 22573, 25486, 39976, 64807, 65535], -3.0),
    ("MIN_FIRST", "qint8"): ([-128, -86, -50, -43, -40, -29, 28, 124, 127], -3.0),
    ("MIN_FIRST", "quint8"): ([0, 42, 78, 85, 88, 99, 156, 252, 255], -3.0),
    ("MIN_FIRST", "quint16"): ([0, 10922, 19952, 21845, 22573, 25486, 39976, 64807, 65535], -3.0),
    ("SCALED", "qint8"): ([-128, -32, -6, 0, 2, 11, 53, 125, 127], -6.047244),
    ("SCALED", "quint8"): ([0, 0, 0, 0, 4, 21, 106, 251, 255], 0.0),
    ("SCALED", "qint16"): ([-32768, -8192, -1420, 0, 546, 2731, 13598, 32221, 32767], -6.000183),
}


def run(*values):
    with Session() as session:
        return session.run(list(values))


def integers(values, dtype: str) -> np.ndarray:
    kind = dtypes.as_dtype(dtype).as_numpy_dtype
    return np.array(values, kind[0]).view(kind)


@pytest.mark.parametrize(("mode", "dtype"), QUANTIZED)
def test_quantize(mode: str, dtype: str) -> None:
    steps, least = QUANTIZED[mode, dtype]
    output, low, high = quantize(X, -3.0, 6.0, dtype, mode=mode)
    assert output.dtype.name == dtype and output.shape == X.shape and low.shape == ()
    found, first, last = run(output, low, high)
    assert found.tolist() == steps
    assert (first, last) == (pytest.approx(least, rel=1e-6), 6.0)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("MIN_COMBINED", [-3.0, -2.011764, 1.482353, 1.517647, 1.623529, 6.0]),
        ("MIN_FIRST", [-3.0, -2.011765, 1.482353, 1.517647, 1.623529, 6.0]),
        ("SCALED", [-6.047244, -4.72441, -0.047244, 0.0, 0.141732, 6.0]),
    ],
)
def test_dequantize(mode: str, expected: list[float]) -> None:
    q = integers([-128, -100, -1, 0, 3, 127], "qint8")
    np.testing.assert_allclose(run(dequantize(q, -3.0, 6.0, mode))[0], expected, atol=1e-6)


def test_narrow_ranges_round_modes_and_slices() -> None:
    even, away = (quantize(X, -4.0, 4.0, "qint8", "SCALED", how, narrow_range=True)[0] for how in ROUND)
    assert [v.tolist() for v in run(even, away)] == [[-127, -48, -8, 0, 3, 16, 79, 127, 127]] * 2
    steps, low, high = run(*quantize(X.reshape(3, 3), [-1.0, -2.0, 0.0], [1.0, 3.0, 5.0], "quint8", axis=1))
    assert low.tolist() == [-1, -2, 0] and high.tolist() == [1, 3, 5]
    each = [run(quantize(X.reshape(3, 3)[:, i], low[i], high[i], "quint8")[0])[0] for i in range(3)]
    np.testing.assert_array_equal(steps, np.stack(each, 1))
    whole = run(dequantize(integers(steps, "quint8"), low, high, axis=1))[0]
    np.testing.assert_allclose(whole[:, 2], run(dequantize(integers(steps[:, 2], "quint8"), 0.0, 5.0))[0])


ROUND = ("HALF_TO_EVEN", "HALF_AWAY_FROM_ZERO")


def test_narrow_input_ranges_are_widened() -> None:
    assert run(*quantize_v2([0.1], 0.0, 0.0, "quint8", "MIN_FIRST"))[2] == pytest.approx(0.01)
    assert run(*quantize_v2([0.1], 0.0, 0.0, "quint8", ensure_minimum_range=0.5))[2] == 0.5


def test_quantization_errors() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="max_range is less"):
        run(*quantize(X, 1.0, -1.0, "quint8"))
    with pytest.raises(ValueError, match="mode SCALED"):
        quantize(X, -1.0, 1.0, "quint8", round_mode="HALF_TO_EVEN")
    with pytest.raises(ValueError, match="a scalar"):
        quantize(X, [-1.0], [1.0], "quint8")
    with pytest.raises(ValueError, match="MIN_COMBINED or SCALED"):
        quantize(X, [-1.0], [1.0], "quint8", mode="MIN_FIRST", axis=0)
    with pytest.raises(TypeError, match="float32"):
        dequantize(X, -1.0, 1.0)


@pytest.mark.parametrize(
    ("signed", "given", "expected"),
    [
        (True, True, [-6.857143, -1.714286, 0, 0, 0, 0.857143, 2.571428, 6, 6]),
        (True, False, [-6.428571, -1.285714, 0, 0, 0, 0, 2.571428, 6.428571, 9]),
        (False, True, [0, 0, 0, 0, 0, 0.4, 2.4, 6, 6]),
        (False, False, [-7.2, -1.2, 0, 0, 0, 0.6, 2.4, 6, 9]),
    ],
)
def test_simulated(signed: bool, given: bool, expected: list[float]) -> None:
    ends = {"signed_input": signed, "range_given": given}
    found = run(
        quantize_and_dequantize(X, -3.0, 6.0, num_bits=4, **ends),
        quantize_and_dequantize_v2(X, -3.0, 6.0, num_bits=4, **ends),
        quantize_and_dequantize_v3_op(X, -3.0, 6.0, 4, **ends),
        quantize_and_dequantize_v1_op(X, num_bits=4, input_min=-3.0, input_max=6.0, **ends),
        quantize_and_dequantize(X.reshape(1, 9), [-3.0], [6.0], num_bits=4, axis=0, **ends)[0],
        quantize_and_dequantize(X.astype(np.float64), -3.0, 6.0, num_bits=4, **ends),
    )
    for value in found:
        np.testing.assert_allclose(value, expected, atol=1e-6)


def test_gradients_are_straight_through() -> None:
    x, low, high = constant(X), constant(-3.0), constant(6.0)
    y = quantize_and_dequantize(x, low, high, range_given=True)
    assert run(gradients(y, x)[0])[0].tolist() == [1] * 9
    y = quantize_and_dequantize_v2(x, low, high, range_given=True)
    by_x, by_low, by_high = run(*gradients(y, [x, low, high]))
    assert by_x.tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 0] and (by_low, by_high) == (0, 0)


def test_fake_quantization() -> None:
    np.testing.assert_allclose(
        run(fake_quant_with_min_max_args(X, min=-3.0, max=6.0, num_bits=4))[0],
        [-3.0, -1.2, 0, 0, 0, 0.6, 2.4, 6, 6],
        atol=1e-6,
    )
    np.testing.assert_allclose(
        run(fake_quant_with_min_max_args(X, min=-3.0, max=6.0, num_bits=4, narrow_range=True))[0],
        [-3.214286, -1.285714, 0, 0, 0, 0.642857, 2.571428, 5.785714, 5.785714],
        atol=1e-6,
    )
    np.testing.assert_allclose(
        run(fake_quant_with_min_max_vars(X, -3.1, 6.0, num_bits=4))[0],
        [-3.033333, -1.213333, 0, 0, 0, 0.606667, 2.426667, 6.066666, 6.066666],
        atol=1e-6,
    )
    grad = fake_quant_with_min_max_args_gradient(X, X, min=-3.0, max=6.0)
    assert run(grad)[0].tolist() == [*[0], *X[1:8].tolist(), 0]


def test_gradients_by_ranges() -> None:
    x, low, high = constant(X), constant(-3.1), constant(6.0)
    y = fake_quant_with_min_max_vars(x, low, high, num_bits=4) * np.arange(9, dtype=np.float32)
    by_x, by_low, by_high = run(*gradients(y, [x, low, high]))
    assert by_x.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 0] and (by_low, by_high) == (0, 8)


def test_channels() -> None:
    """A channel whose range was never set gives zeros and passes its gradient."""
    x, low, high = reshape(constant(X), [3, 3]), constant([-3.1, -1.0, 0.0]), constant([6.0, 2.0, 0.0])
    y = fake_quant_with_min_max_vars_per_channel(x, low, high, num_bits=4)
    grads = gradients(y * np.arange(9, dtype=np.float32).reshape(3, 3), [x, low, high])
    value, by_x, by_low, by_high = run(y, *grads)
    np.testing.assert_allclose(value, [[-3.033333, -1, 0], [0, 0.2, 0], [2.426667, 2, 0]], atol=1e-6)
    assert by_x.tolist() == [[0, 0, 2], [3, 4, 5], [6, 0, 8]]
    assert by_low.tolist() == [0, 1, 0] and by_high.tolist() == [0, 7, 0]
    with pytest.raises(ValueError, match="sizes differ: 3 and 2"):
        fake_quant_with_min_max_vars_per_channel(X.reshape(3, 3), [0.0, 0.0], [1.0, 1.0])


@pytest.mark.parametrize("bits", [1, 17])
def test_numbers_of_bits(bits: int) -> None:
    with pytest.raises(ValueError, match=f"num_bits is {bits}"):
        fake_quant_with_min_max_args(X, num_bits=bits)
