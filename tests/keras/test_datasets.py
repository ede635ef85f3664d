"""Data sets, read from files in their known formats."""

import gzip
import hashlib
import json
import os
import pickle

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.keras.datasets import housing, images, texts

datasets = tf.keras.datasets


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The folder of data sets in the cache; no server can be reached."""

    def refused(origin, timeout):
        raise OSError("no network")

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("thalweg._src.keras.utils.cached_files.urlopen", refused)
    folder = tmp_path / ".keras" / "datasets"
    folder.mkdir(parents=True)
    return folder


def accept(monkeypatch, module, name, path):
    monkeypatch.setattr(module, name, hashlib.md5(path.read_bytes()).hexdigest())


def test_digits_come_from_the_cache_or_a_path(cache, tmp_path, monkeypatch):
    arrays = {name: np.arange(size) for name, size in (("x_train", 3), ("y_train", 4), ("x_test", 5), ("y_test", 6))}
    np.savez(tmp_path / "own.npz", **arrays)
    (x_train, y_train), (x_test, y_test) = datasets.mnist.load_data(str(tmp_path / "own.npz"))
    for found, name in ((x_train, "x_train"), (y_train, "y_train"), (x_test, "x_test"), (y_test, "y_test")):
        np.testing.assert_array_equal(found, arrays[name])
    np.savez(cache / "mnist.npz", **arrays)
    with pytest.raises(FileNotFoundError, match=r"tf-keras-datasets/mnist\.npz: no network.*datasets/mnist\.npz"):
        datasets.mnist.load_data()  # not the file that everybody has
    accept(monkeypatch, images, "_MNIST_HASH", cache / "mnist.npz")
    assert len(datasets.mnist.load_data()[1][1]) == 6


def test_a_file_without_the_arrays_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.zeros(2))
    with pytest.raises(ValueError, match="expected the arrays x, y, y is missing"):
        datasets.boston_housing.load_data(str(tmp_path / "other.npz"))


def test_clothes_are_idx_files(cache):
    folder = cache / "fashion-mnist"
    folder.mkdir()
    for part, count in (("train", 3), ("t10k", 2)):
        pixels = (np.arange(count * 784) % 256).astype(np.uint8)
        for kind, header, content in (
            ("images-idx3", 16, pixels.tobytes()),
            ("labels-idx1", 8, bytes(range(count))),
        ):
            with gzip.open(folder / f"{part}-{kind}-ubyte.gz", "wb") as file:
                file.write(b"\0" * header + content)
    (x_train, y_train), (x_test, y_test) = datasets.fashion_mnist.load_data()
    assert x_train.shape == (3, 28, 28) and x_train.dtype == np.uint8 and x_train[0, 1, 0] == 28
    assert x_test.shape == (2, 28, 28)
    assert y_train.tolist() == [0, 1, 2] and y_test.tolist() == [0, 1]


def write_cifar(folder, name, first, labels):
    folder.mkdir(exist_ok=True)
    data = np.arange(len(labels[1]) * 3072).reshape(-1, 3072).astype(np.uint8) + np.uint8(first)
    with open(folder / name, "wb") as file:
        pickle.dump({b"data": data, labels[0]: labels[1]}, file, protocol=2)


def test_photographs_of_ten_kinds(cache):
    folder = cache / "cifar-10-batches-py"
    for number in range(1, 6):
        write_cifar(folder, f"data_batch_{number}", number, (b"labels", [number, 0]))
    write_cifar(folder, "test_batch", 9, (b"labels", [7]))
    (x_train, y_train), (x_test, y_test) = datasets.cifar10.load_data()
    assert x_train.shape == (10, 32, 32, 3) and x_test.shape == (1, 32, 32, 3)
    assert y_train.ravel().tolist() == [1, 0, 2, 0, 3, 0, 4, 0, 5, 0] and y_train.dtype == np.uint8
    assert y_test.tolist() == [[7]]
    assert x_test[0, 0, :2].tolist() == [[9, 1024 % 256 + 9, 2048 % 256 + 9], [10, 10, 10]]  # planes become channels
    tf.keras.backend.set_image_data_format("channels_first")
    try:
        assert datasets.cifar10.load_data()[1][0].shape == (1, 3, 32, 32)
    finally:
        tf.keras.backend.set_image_data_format("channels_last")


def test_photographs_of_a_hundred_kinds(cache):
    for part, labels in (("train", [3, 4, 5]), ("test", [6])):
        write_cifar(cache / "cifar-100-python", part, 0, (b"coarse_labels", labels))
    (x_train, y_train), (_, y_test) = datasets.cifar100.load_data("coarse")
    assert x_train.shape == (3, 32, 32, 3) and y_train.ravel().tolist() == [3, 4, 5] and y_test.tolist() == [[6]]
    with pytest.raises(ValueError, match='expected "fine" or "coarse", received \'finest\''):
        datasets.cifar100.load_data("finest")


def test_files_that_would_run_code_are_refused(cache):
    class Command:
        def __reduce__(self):
            return os.getcwd, ()

    folder = cache / "cifar-100-python"
    folder.mkdir()
    for part in ("train", "test"):
        (folder / part).write_bytes(pickle.dumps({b"data": Command()}))
    with pytest.raises(pickle.UnpicklingError, match="expected arrays and lists alone"):
        datasets.cifar100.load_data()


def reviews():
    """Ten short texts for training and five for a test; the label of a text is its first word."""
    rows = [[number, *range(number % 4)] for number in range(15)]
    objects = np.empty(15, object)
    objects[:] = rows
    return objects, np.array([row[0] for row in rows])


def words_of(part, skip=1):
    return [list(text[skip:]) for text in part[0]]


def test_reviews_are_shuffled_and_encoded(tmp_path):
    x, y = reviews()
    path = str(tmp_path / "reviews.npz")
    np.savez(path, x_train=x[:10], y_train=y[:10], x_test=x[10:], y_test=y[10:])
    train, test = datasets.imdb.load_data(path)
    order = np.arange(10)
    np.random.RandomState(113).shuffle(order)
    np.testing.assert_array_equal(train[1], y[:10][order])
    largest = 17  # of all words after they were moved, which is one too large for itself
    for text, label in zip(*train):
        assert text == [1, *(word + 3 if word + 3 < largest else 2 for word in x[label])]
    train, _ = datasets.imdb.load_data(path, start_char=None, index_from=0, num_words=5, skip_top=1, oov_char=None)
    for text, label in zip(*train):
        assert text == [word for word in x[label] if 1 <= word < 5]
    train, test = datasets.imdb.load_data(path, maxlen=4, start_char=None)
    assert all(len(text) < 4 for text in [*train[0], *test[0]])
    assert len(train[0]) == 10  # as many as before are for training, the rest for the test
    with pytest.raises(ValueError, match="maxlen=1 leaves no text"):
        datasets.imdb.load_data(path, maxlen=1)
    with pytest.raises(TypeError, match="Unrecognized keyword arguments"):
        datasets.imdb.load_data(path, words=3)
    again, _ = datasets.imdb.load_data(path, nb_words=5)
    assert max(map(max, again[0])) < 5


def test_loading_leaves_the_random_state_alone(tmp_path):
    x, y = reviews()
    np.savez(tmp_path / "reviews.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    np.random.seed(7)
    expected = np.random.rand()
    np.random.seed(7)
    datasets.imdb.load_data(str(tmp_path / "reviews.npz"))
    assert np.random.rand() == expected


def test_newswires_are_split(tmp_path):
    x, y = reviews()
    np.savez(tmp_path / "wires.npz", x=x, y=y)
    train, test = datasets.reuters.load_data(str(tmp_path / "wires.npz"), test_split=0.4, seed=5)
    order = np.arange(15)
    np.random.RandomState(5).shuffle(order)
    np.testing.assert_array_equal(np.concatenate([train[1], test[1]]), order)
    assert len(train[0]) == 9 and words_of(train)[0][0] in (order[0] + 3, 2)


def test_words_have_numbers(cache, monkeypatch):
    for module, name in ((datasets.imdb, "imdb"), (datasets.reuters, "reuters")):
        file = cache / f"{name}_word_index.json"
        file.write_text(json.dumps({"the": 1, name: 2}))
        accept(monkeypatch, texts, f"_{name.upper()}_WORDS_HASH", file)
        assert module.get_word_index() == {"the": 1, name: 2}


def test_houses_are_shuffled_and_split(cache, monkeypatch):
    np.savez(cache / "boston_housing.npz", x=np.arange(20).reshape(10, 2), y=np.arange(10))
    accept(monkeypatch, housing, "_HASH", cache / "boston_housing.npz")
    (x_train, y_train), (x_test, y_test) = datasets.boston_housing.load_data(test_split=0.3, seed=1)
    order = np.arange(10)
    np.random.RandomState(1).shuffle(order)
    np.testing.assert_array_equal(y_train, order[:7])
    np.testing.assert_array_equal(y_test, order[7:])
    np.testing.assert_array_equal(x_train[:, 0], 2 * y_train)
    assert x_test.shape == (3, 2)
    with pytest.raises(ValueError, match="test_split: expected a fraction"):
        datasets.boston_housing.load_data(test_split=1.5)
