"""Images as networks of ImageNet take them, and the names of what they find."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.keras.backend.settings import floatx, image_data_format
from thalweg._src.keras.utils.cached_files import get_file

T = TypeVar("T")
_MODULES = (
    *("densenet", "imagenet_utils", "inception_resnet_v2", "inception_v3", "mobilenet", "mobilenet_v2", "nasnet"),
    *("resnet", "resnet50", "resnet_v2", "vgg16", "vgg19", "xception"),
)
_CLASSES = "imagenet_class_index.json"
_CLASSES_URL = f"https://storage.googleapis.com/download.tensorflow.org/data/{_CLASSES}"
_CLASSES_HASH = "c2c37ea517e94d9795004a39431a14cb"
_RGB = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])  # mean and standard deviation, of values from 0 to 1
_BGR = [103.939, 116.779, 123.68]  # means of values from 0 to 255
_NAMES: dict[str, dict[str, list[str]]] = {}  # the classes by number, by the path of their file


def _exported(name: str, *modules: str) -> Callable[[T], T]:
    return export(*(f"keras.applications.{module}.{name}" for module in modules))


@_exported("preprocess_input", "imagenet_utils")
def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Returns images of values from 0 to 255 as networks take them; an array of floating-point numbers is changed.

    "tf" scales to [-1, 1]; "torch" scales to [0, 1] and normalizes each channel; "caffe" makes RGB to BGR and
    subtracts the mean of each channel.
    """
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(f'mode: expected "caffe", "tf" or "torch", received {mode!r}')
    data_format = data_format or image_data_format()
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f'data_format: expected "channels_first" or "channels_last", received {data_format!r}')
    if isinstance(x, np.ndarray):
        x = x if np.issubdtype(x.dtype, np.floating) else x.astype(floatx())
    else:
        x = convert_to_tensor(x)
        x = x if x.dtype.is_floating else cast(x, floatx())
    if mode == "tf":
        x /= 127.5
        x -= 1.0
        return x
    is_first = data_format == "channels_first"
    if mode == "torch":
        x /= 255.0
        x -= _channels(_RGB[0], x, is_first)
        x /= _channels(_RGB[1], x, is_first)
        return x
    x = x[..., ::-1] if not is_first else x[..., ::-1, :, :]
    x -= _channels(_BGR, x, is_first)
    return x


def _channels(values: list[float], x: Any, is_first: bool) -> Any:
    """Returns a number for each channel in the type of images, and in a shape that broadcasts with theirs."""
    kind = x.dtype if isinstance(x, np.ndarray) else x.dtype.as_numpy_dtype
    return np.asarray(values, kind).reshape((3, 1, 1) if is_first else (3,))


@_exported("preprocess_input", "resnet", "resnet50", "vgg16", "vgg19")
def preprocess_caffe(x: Any, data_format: str | None = None) -> Any:
    """Returns images as BGR with the mean of ImageNet subtracted from each channel."""
    return preprocess_input(x, data_format, "caffe")


@_exported(
    "preprocess_input",
    *("inception_resnet_v2", "inception_v3", "mobilenet", "mobilenet_v2", "nasnet", "resnet_v2", "xception"),
)
def preprocess_tf(x: Any, data_format: str | None = None) -> Any:
    """Returns images of values from 0 to 255 as values from -1 to 1."""
    return preprocess_input(x, data_format, "tf")


@_exported("preprocess_input", "densenet")
def preprocess_torch(x: Any, data_format: str | None = None) -> Any:
    """Returns images with each channel normalized by mean and standard deviation of ImageNet."""
    return preprocess_input(x, data_format, "torch")


@_exported("decode_predictions", *_MODULES)
def decode_predictions(preds: np.ndarray[Any, Any], top: int = 5) -> list[list[tuple[str, str, Any]]]:
    """Returns the most probable classes of each image: the number of WordNet, the name, and the probability."""
    require_members("preds", preds, "an array", "shape")
    if len(preds.shape) != 2 or preds.shape[1] != 1000:
        raise ValueError(f"preds: expected probabilities of shape [images, 1000], received shape {preds.shape}")
    path = get_file(_CLASSES, _CLASSES_URL, cache_subdir="models", file_hash=_CLASSES_HASH)
    if path not in _NAMES:
        with open(path) as file:
            _NAMES[path] = json.load(file)
    names = _NAMES[path]
    rows = np.asarray(preds)
    best = np.argsort(rows, axis=1)[:, ::-1][:, :top]
    return [[(*names[str(at)], row[at]) for at in order] for row, order in zip(rows, best)]
