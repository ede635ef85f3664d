"""Data sets of images: MNIST, Fashion-MNIST, CIFAR-10 and CIFAR-100."""

from __future__ import annotations

import io
import os

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.base.formats.proportion import read_gzip
from thalweg._src.keras.backend.settings import image_data_format
from thalweg._src.keras.datasets.files import URL, Array, Split, arrays, located
from thalweg._src.keras.datasets.pickled_arrays import read_pickled
from thalweg._src.keras.utils.cached_files import get_file

_MNIST_HASH = "8a61469f7ea1b51cbae51d4f78837e45"
_CIFAR_URL = "https://www.cs.toronto.edu/~kriz/"


@export("keras.datasets.mnist.load_data")
def load_mnist(path: str = "mnist.npz") -> Split:
    """Returns handwritten digits: images and classes for training, and for a test."""
    x_train, y_train, x_test, y_test = arrays(
        located(path, "mnist.npz", _MNIST_HASH), "x_train", "y_train", "x_test", "y_test"
    )
    return (x_train, y_train), (x_test, y_test)


@export("keras.datasets.fashion_mnist.load_data")
def load_fashion_mnist() -> Split:
    """Returns pictures of clothes in the format of MNIST: images and classes for training, and for a test."""
    (x_train, y_train), (x_test, y_test) = (
        (_idx(f"{subset}-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28), _idx(f"{subset}-labels-idx1-ubyte.gz", 8))
        for subset in ("train", "t10k")
    )
    return (x_train, y_train), (x_test, y_test)


def _idx(name: str, header: int) -> Array:
    """Returns the bytes of an IDX file after its header."""
    path = get_file(name, URL + name, cache_subdir=os.path.join("datasets", "fashion-mnist"))
    return np.frombuffer(read_gzip(path), np.uint8, offset=header)


@export("keras.datasets.cifar10.load_data")
def load_cifar10() -> Split:
    """Returns photographs of ten kinds of things: images and classes for training, and for a test."""
    folder = get_file("cifar-10-batches-py", f"{_CIFAR_URL}cifar-10-python.tar.gz", untar=True)
    batches = [_cifar(os.path.join(folder, f"data_batch_{number}"), "labels") for number in range(1, 6)]
    x_test, y_test = _cifar(os.path.join(folder, "test_batch"), "labels")
    x_train, y_train = np.concatenate([x for x, _ in batches]), np.concatenate([y for _, y in batches])
    return (x_train, y_train.astype(np.uint8)), (x_test, y_test.astype(np.uint8))


@export("keras.datasets.cifar100.load_data")
def load_cifar100(label_mode: str = "fine") -> Split:
    """Returns photographs of a hundred kinds of things: images and classes for training, and for a test."""
    if label_mode not in ("fine", "coarse"):
        raise ValueError(f'label_mode: expected "fine" or "coarse", received {label_mode!r}')
    folder = get_file("cifar-100-python", f"{_CIFAR_URL}cifar-100-python.tar.gz", untar=True)
    train, test = (_cifar(os.path.join(folder, subset), f"{label_mode}_labels") for subset in ("train", "test"))
    return train, test


def _cifar(path: str, labels: str) -> tuple[Array, Array]:
    """Returns the images and the column of classes of a file of CIFAR."""
    with open(path, "rb") as file:
        content = read_pickled(io.BytesIO(file.read()))
    images = content[b"data"].reshape(-1, 3, 32, 32)
    if image_data_format() == "channels_last":
        images = images.transpose(0, 2, 3, 1)
    return images, np.reshape(content[labels.encode()], (-1, 1))
