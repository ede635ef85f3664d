"""Samples in files: batches, sizes that models fix, and files that do not fit."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.deploy.quantize.sample_files import read_samples

X = np.arange(70 * 3, dtype=np.float32).reshape(70, 3)


@pytest.fixture
def read(tmp_path):
    def read(shapes, **arrays):
        np.savez(tmp_path / "samples.npz", **arrays)
        return list(read_samples(str(tmp_path / "samples.npz"), shapes))

    return read


@pytest.mark.parametrize(
    ("shape", "sizes"), [((None, 3), [32, 32, 6]), (None, [32, 32, 6]), ((20, 3), [20, 20, 20]), ((70, 3), [70])]
)
def test_samples_come_in_batches_of_the_size_that_the_model_takes(read, shape, sizes):
    found = read({"x": shape}, x=X)
    assert [len(each["x"]) for each in found] == sizes
    np.testing.assert_array_equal(np.concatenate([each["x"] for each in found]), X[: sum(sizes)])


def test_a_number_is_fed_with_every_batch(read):
    found = read({"x": (None, 3), "rate": ()}, x=X, rate=np.float32(0.5), labels=X)
    assert [sorted(each) for each in found] == [["rate", "x"]] * 3 and {float(each["rate"]) for each in found} == {0.5}
    assert read({"rate": ()}, rate=1.0) == [{"rate": 1.0}]


def test_a_single_array_is_the_only_input(tmp_path):
    np.save(tmp_path / "samples.npy", X)
    (found, *_) = read_samples(str(tmp_path / "samples.npy"), {"any name": (None, 3)})
    np.testing.assert_array_equal(found["any name"], X[:32])


@pytest.mark.parametrize(
    ("shapes", "arrays", "words"),
    [
        ({"x": (None, 3), "y": (None,)}, {"x": X}, "expected arrays x, y, received x"),
        ({"x": (None, 4)}, {"x": X}, r"expected 'x' of shape \[\?, 4\], received \[70, 3\]"),
        ({"x": ()}, {"x": X}, r"expected 'x' of shape \[\], received \[70, 3\]"),
        ({"x": (100, 3)}, {"x": X}, "expected 100 samples at least, received 70"),
        ({"x": None, "y": None}, {"x": X, "y": X[:9]}, "as many samples of each input, received 70 of 'x', 9 of 'y'"),
        ({"x": None}, {"x": np.array([None])}, "Object arrays, which are pickled"),
    ],
)
def test_files_that_do_not_fit_are_refused(read, shapes, arrays, words):
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        read(shapes, **arrays)
