"""Data sets of HDF5 files in the place of arrays, and kernels of Theano."""

import h5py
import numpy as np
import pytest

import thalweg as tf

keras = tf.keras
HDF5Matrix = keras.utils.HDF5Matrix
VALUES = np.arange(20, dtype=np.float32).reshape(10, 2)


@pytest.fixture
def path(tmp_path):
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["x"] = VALUES
        file["y"] = VALUES[:, 0] * 2
    return tmp_path / "data.h5"


def test_rows_are_those_of_the_file(path):
    rows = HDF5Matrix(path, "x", start=2, end=8)
    inner = VALUES[2:8]
    assert len(rows) == 6 and rows.shape == (6, 2) and rows.ndim == 2 and rows.size == 12 and rows.dtype == np.float32
    for key in (0, 5, slice(1, 4), slice(None), slice(None, None, 2), slice(4, 99), [3, 1, 1], np.array([5, 0])):
        np.testing.assert_array_equal(rows[key], inner[key])
    np.testing.assert_array_equal(rows[:, None], inner[:, None])
    np.testing.assert_array_equal(HDF5Matrix(str(path), "y")[3:5], [12, 16])


def test_rows_beyond_the_end_are_refused(path):
    rows = HDF5Matrix(path, "x", end=4)
    for key in (4, -1, [1, 4], np.array([-1])):
        with pytest.raises(IndexError, match=r"expected (a row|rows) of 4"):
            rows[key]
    with pytest.raises(ValueError, match="expected rows of 10, received 3 and 11"):
        HDF5Matrix(path, "x", 3, 11)


def test_a_function_normalizes_rows(path):
    rows = HDF5Matrix(path, "x", normalizer=lambda x: (x / 2).astype(np.float64)[..., None])
    assert rows.shape == (10, 2, 1) and rows.dtype == np.float64
    np.testing.assert_array_equal(rows[2:4], VALUES[2:4, :, None] / 2)


@pytest.mark.parametrize("shuffle", ["batch", True, False])
def test_a_model_trains_on_rows(path, shuffle):
    model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(2,))])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    x, y = HDF5Matrix(path, "x"), HDF5Matrix(path, "y")
    history = model.fit(x, y, batch_size=3, shuffle=shuffle, verbose=0)
    np.testing.assert_allclose(history.history["loss"], [np.mean(np.square(VALUES[:, 0] * 2))], rtol=1e-6)
    np.testing.assert_allclose(model.evaluate(x, y, verbose=0), np.mean(np.square(VALUES[:, 0] * 2)), rtol=1e-6)
    assert model.predict(x).shape == (10, 1)


def test_kernels_are_turned_around():
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Conv2D(2, (2, 3), input_shape=(8, 8, 1)),
            layers.SeparableConv2D(3, 2),
            layers.Conv2DTranspose(2, 3),
            layers.Flatten(),
            layers.Dense(2),
        ]
    )
    before = model.get_weights()
    keras.utils.convert_all_kernels_in_model(model)
    for layer, old, new in zip("kbdpbkbkb", before, model.get_weights(), strict=True):
        is_turned = old.ndim == 4 and layer != "p"
        np.testing.assert_array_equal(new, old[::-1, ::-1] if is_turned else old)
    keras.utils.convert_all_kernels_in_model(model)
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
