"""tf.keras.datasets: Data sets of tutorials, read from files of the local cache."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.keras.datasets import boston_housing as boston_housing
    from thalweg.keras.datasets import cifar10 as cifar10
    from thalweg.keras.datasets import cifar100 as cifar100
    from thalweg.keras.datasets import fashion_mnist as fashion_mnist
    from thalweg.keras.datasets import imdb as imdb
    from thalweg.keras.datasets import mnist as mnist
    from thalweg.keras.datasets import reuters as reuters

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["boston_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist", "reuters"],
    {},
)

__all__ = ["boston_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist", "reuters"]
