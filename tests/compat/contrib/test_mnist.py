"""The MNIST data set of the tutorials: four IDX files in a folder."""

import gzip

import numpy as np
import pytest

import thalweg as tf
from thalweg.examples.tutorials.mnist import input_data

FILES = {"train-images-idx3-ubyte": (12, 4, 3), "train-labels-idx1-ubyte": (12,)} | {
    "t10k-images-idx3-ubyte.gz": (5, 4, 3),
    "t10k-labels-idx1-ubyte.gz": (5,),
}


@pytest.fixture
def folder(tmp_path):
    for name, shape in FILES.items():
        values = (np.arange(np.prod(shape)) % (10 if len(shape) == 1 else 256)).astype(np.uint8)
        data = b"\0\0\x08" + bytes([len(shape)]) + np.array(shape, ">u4").tobytes() + values.tobytes()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return tmp_path


def test_images_are_rows_in_zero_to_one_and_labels_numbers(folder):
    mnist = input_data.read_data_sets(str(folder), validation_size=2)
    assert (mnist.train.num_examples, mnist.validation.num_examples, mnist.test.num_examples) == (10, 2, 5)
    assert mnist.train.images.shape == (10, 12) and mnist.train.images.dtype == np.float32
    np.testing.assert_allclose(mnist.validation.images[1], np.arange(12, 24) / 255, rtol=1e-6)
    np.testing.assert_array_equal(mnist.train.labels, [2, 3, 4, 5, 6, 7, 8, 9, 0, 1])


def test_images_as_they_are_and_one_hot_labels(folder):
    mnist = input_data.read_data_sets(folder, one_hot=True, dtype=tf.uint8, reshape=False, validation_size=0)
    assert mnist.test.images.shape == (5, 4, 3, 1) and mnist.test.images.dtype == np.uint8
    np.testing.assert_array_equal(mnist.test.images[0].ravel(), np.arange(12))
    np.testing.assert_array_equal(mnist.test.labels, np.eye(10)[:5])


def test_every_epoch_returns_each_example_once(folder):
    train = input_data.read_data_sets(folder, dtype=tf.uint8, validation_size=2, seed=1).train
    first = [train.next_batch(5)[1] for _ in range(2)]
    assert sorted(np.concatenate(first)) == list(range(10)) and train.epochs_completed == 0
    images, labels = train.next_batch(23)
    assert len(images) == len(labels) == 23 and train.epochs_completed == 3
    assert sorted(labels[:10]) == sorted(labels[10:20]) == list(range(10))
    plain = input_data.read_data_sets(folder, validation_size=2).train
    np.testing.assert_array_equal(plain.next_batch(4, shuffle=False)[1], [2, 3, 4, 5])


def test_a_seed_fixes_the_order(folder):
    def order(**options):
        return input_data.read_data_sets(folder, validation_size=0, **options).train.next_batch(12)[0].tolist()

    assert len(input_data.read_data_sets(folder, validation_size=0).validation.next_batch(3)[0]) == 0
    assert order(seed=3) == order(seed=3) != order(seed=4)


def test_missing_files_are_named(folder):
    (folder / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(tf.errors.NotFoundError, match=r"train-labels-idx1-ubyte\.gz") as caught:
        input_data.read_data_sets(folder)
    assert str(folder) in str(caught.value) and "train-images" not in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"\0\0\x08\x03\0\0\0\x01", b"<html>", b"\0\0\x08\x01\0\0\0\x05abc"])
def test_other_files_are_refused(folder, data):
    (folder / "train-images-idx3-ubyte").write_bytes(data)
    with pytest.raises(tf.errors.DataLossError, match="not an IDX file"):
        input_data.read_data_sets(folder)


def test_fake_data_needs_no_files(tmp_path):
    mnist = input_data.read_data_sets(tmp_path, fake_data=True, one_hot=True)
    images, labels = mnist.train.next_batch(7)
    assert images.shape == (7, 784) and (images == 1).all() and labels.shape == (7, 10)
    images, labels = mnist.train.next_batch(2, fake_data=True)
    assert images.shape == (2, 784) and labels.tolist() == [0, 0]
