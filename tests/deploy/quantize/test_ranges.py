"""Ranges of values that arrive in batches."""

import numpy as np
import pytest

from thalweg._src.deploy.quantize.ranges import MinMax, Percentile, weight_ends

VALUES = np.random.RandomState(0).normal(size=(20, 500)).astype(np.float32)


def seen(measured, batches):
    for batch in batches:
        measured.see(batch)
    return measured.ends()


def test_the_ends_of_all_batches_are_found_with_zero_between():
    assert seen(MinMax(), VALUES) == (VALUES.min(), VALUES.max())
    assert seen(MinMax(), [np.array([2.0, 3.0])]) == (0.0, 3.0)
    assert seen(MinMax(), [np.array([-2.0]), np.zeros(0)]) == (-2.0, 0.0)


@pytest.mark.parametrize("percentile", [90.0, 99.0, 100.0])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
def test_percentiles_are_those_of_all_values(percentile, scale):
    batches = VALUES * scale * np.linspace(0.1, 3.0, 20)[:, None]  # the histogram must grow
    found = seen(Percentile(percentile), batches)
    expected = np.percentile(batches, [100 - percentile, percentile])
    np.testing.assert_allclose(found, expected, atol=np.abs(batches).max() / 500)


def test_outliers_do_not_widen_a_percentile_range():
    values = np.concatenate([VALUES.ravel(), [1000.0]])
    low, high = seen(Percentile(99.9), [values])
    assert -5.0 < low < -2.5 and 2.5 < high < 5.0
    assert seen(MinMax(), [values])[1] == 1000.0


def test_values_of_one_sign_have_a_range_that_starts_at_zero():
    low, high = seen(Percentile(99.0), [np.abs(VALUES)])
    assert low == 0.0 and high > 2.0
    assert seen(Percentile(99.0), [np.zeros(3), np.zeros(0)])[0] <= 0.0
    assert Percentile(99.0).ends() == (0.0, 0.0)


def test_weights_have_symmetric_ranges_by_channel():
    weights = np.array([[1.0, -3.0, 0.0], [-2.0, 1.0, 0.0]], np.float32)
    low, high = weight_ends(weights, per_channel=True)
    np.testing.assert_array_equal(high, np.array([2.0, 3.0, 1e-6], np.float32))
    np.testing.assert_array_equal(low, -high)
    low, high = weight_ends(weights, per_channel=False)
    assert high.shape == () and (low, high) == (-3.0, 3.0)


def test_ranges_of_weights_contain_what_they_must():
    weights = np.array([[1.0, -3.0], [-2.0, 1.0]], np.float32)
    for least, expected in (([5.0, 1.0], [5.0, 3.0]), ([4.0], [4.0, 4.0])):
        np.testing.assert_array_equal(weight_ends(weights, True, np.array(least))[1], np.float32(expected))
    assert weight_ends(weights, False, np.array([1.0, 5.0]))[1] == 5.0
