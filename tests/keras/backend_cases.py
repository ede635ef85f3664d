"""Calls of functions of keras.backend, for the real library and for this one: names, arguments, and how to make arrays.

An argument that is a dictionary stands for an array, which `made` makes. This module needs NumPy alone.
"""

import gzip
import itertools
import json
from pathlib import Path

import numpy as np

ANSWERS = Path(__file__).parent.parent / "fixtures" / "keras_backend.json.gz"
FORMATS = ("channels_last", "channels_first")


def normal(*shape, seed=0):
    return {"normal": shape, "seed": seed}


def uniform(*shape, seed=0):
    return {"uniform": shape, "seed": seed}


def whole(below, *shape, seed=0):
    return {"whole": shape, "below": below, "seed": seed}


def given(values, dtype):
    return {"given": values, "dtype": dtype}


def made(argument):
    """Returns an argument with the arrays that it describes, and lists as tuples, which Keras needs in places."""
    if isinstance(argument, list | tuple):
        return tuple(made(each) for each in argument)
    if not isinstance(argument, dict):
        return argument
    if "given" in argument:
        return np.array(argument["given"], argument["dtype"])
    random = np.random.RandomState(argument["seed"])
    if "whole" in argument:
        return random.randint(0, argument["below"], argument["whole"]).astype("int32")
    if "uniform" in argument:
        return random.uniform(0.1, 1.0, argument["uniform"]).astype("float32")
    return random.standard_normal(argument["normal"]).astype("float32")


def called(function, args, kwargs, as_tensor):
    """Returns the result of a function for the arguments of a case, whose arrays become tensors."""

    def converted(value):
        if isinstance(value, tuple):
            return tuple(map(converted, value))
        return as_tensor(value) if isinstance(value, np.ndarray) else value

    options = {key: made(value) for key, value in kwargs.items()}
    return function(*[converted(made(each)) for each in args], **options)


def encoded(array):
    array = np.asarray(array)
    flat = array.ravel().tolist()
    if array.dtype.kind == "f":
        flat = [float(f"{value:.7g}") for value in flat]
    return {"shape": list(array.shape), "dtype": str(array.dtype), "values": flat}


def decoded(answer):
    return np.array(answer["values"], answer["dtype"]).reshape(answer["shape"])


def read_answers():
    """Returns the recorded calls by family: (function, arguments, keyword arguments, answers) of each."""
    with gzip.open(ANSWERS, "rt") as file:
        return json.load(file)


def channels(data_format, batch, spatial, count):
    """Returns the shape of images or volumes."""
    return (batch, count, *spatial) if data_format == "channels_first" else (batch, *spatial, count)


# -- the calls --------------------------------------------------------------------------------------------------------


def _math():
    for axis in (None, 0, 1, -1, [0, 2], [1, -1]):
        for keepdims in (False, True):
            for name in ("max", "min", "sum", "prod", "mean", "var", "std"):
                yield name, [normal(2, 3, 4), axis, keepdims], {}
            for name in ("any", "all"):
                yield name, [whole(2, 2, 3, 4), axis, keepdims], {}
    yield "mean", [given([[True, False], [True, True]], "bool"), 1], {}
    yield "var", [given([[True, False], [True, True]], "bool"), 1], {}
    for axis in (0, 1, 2, -2):
        for name in ("argmax", "argmin", "cumsum", "cumprod"):
            yield name, [normal(2, 3, 4), axis], {}
    yield "argmax", [normal(2, 3)], {}
    yield "cumsum", [normal(2, 3)], {}
    for name in ("abs", "square", "sqrt", "exp", "round", "sign", "sin", "cos"):
        yield name, [normal(3, 4)], {}
    yield "round", [given([0.5, 1.5, -0.5, 2.4], "float32")], {}
    yield "log", [uniform(3, 4)], {}
    yield "pow", [uniform(3, 4), 2.5], {}
    yield "clip", [normal(3, 4), -0.5, 0.75], {}
    yield "clip", [normal(3, 4), 0.5, 0.25], {}
    yield "clip", [normal(3, 4), None, 0.25], {}
    yield "clip", [normal(3, 4), -0.25, None], {}
    for name in ("maximum", "minimum", "equal", "not_equal", "greater", "greater_equal", "less", "less_equal"):
        yield name, [whole(3, 2, 3), whole(3, 2, 3, seed=1)], {}
        yield name, [normal(2, 3), normal(3, seed=1)], {}
    yield "cast", [normal(2, 3), "int32"], {}
    yield "cast_to_floatx", [whole(5, 2, 3)], {}
    yield "gather", [normal(5, 2), whole(5, 3, 2)], {}


def _products():
    for x, y in (
        ((2, 3), (3, 4)),
        ((2, 3, 4), (4, 5)),
        ((2, 3), (5, 3, 4)),
        ((2, 3, 4), (5, 4, 2)),
        ((2, 1, 3, 4), (2, 4, 3)),
        ((1, 2, 3), (2, 2, 3, 5)),
    ):
        yield "dot", [normal(*x), normal(*y, seed=1)], {}
    for x, y, axes in (
        ((4, 3), (4, 3), 1),
        ((4, 3), (4, 3), None),
        ((4, 3), (4, 3), [1, 1]),
        ((4, 2, 3), (4, 3, 5), None),
        ((4, 2, 3), (4, 3, 5), [2, 1]),
        ((4, 3, 2), (4, 3, 5), [1, 1]),
        ((4, 3, 2), (4, 5, 2), 2),
        ((4, 3, 2), (4, 5, 2), -1),
        ((4, 2, 3), (4, 5, 2), [1, 2]),
        ((4, 2, 3), (4, 3), [2, 1]),
        ((4, 2, 3), (4, 3), None),
        ((4, 3), (4, 5, 3), [1, 2]),
        ((4, 3), (4, 3, 5), [1, 1]),
        ((4, 2, 3, 5), (4, 5), [3, 1]),
        ((4, 2, 3), (4, 5, 2, 3), [1, 2]),
        ((4, 2, 3, 5), (4, 2, 7, 3), [1, 1]),
    ):
        yield "batch_dot", [normal(*x), normal(*y, seed=1), axes], {}


def _shapes():
    yield "shape", [normal(2, 3)], {}
    yield "reshape", [normal(2, 6), [3, -1]], {}
    yield "transpose", [normal(2, 3, 4)], {}
    yield "permute_dimensions", [normal(2, 3, 4), [2, 0, 1]], {}
    for axis in (0, 1, -1):
        yield "expand_dims", [normal(2, 3), axis], {}
        yield "concatenate", [[normal(2, 2), normal(2, 2, seed=1)], axis], {}
        yield "stack", [[normal(2, 3), normal(2, 3, seed=1)], axis], {}
        yield "repeat_elements", [normal(2, 3), 2, axis], {}
        yield "reverse", [normal(2, 3), axis], {}
    yield "reverse", [normal(2, 3, 4), [0, 2]], {}
    yield "concatenate", [[normal(2, 3), normal(2, 1)]], {}
    yield "stack", [[normal(2), normal(2, seed=1)]], {}
    yield "squeeze", [normal(2, 1, 3), 1], {}
    yield "squeeze", [normal(2, 3, 1), -1], {}
    yield "flatten", [normal(2, 3, 4)], {}
    yield "batch_flatten", [normal(2, 3, 4)], {}
    yield "repeat", [normal(2, 3), 4], {}
    yield "tile", [normal(2, 3), [2, 1]], {}
    yield "tile", [normal(3), 2], {}
    for arguments in ([4], [-3], [1, 5], [1, 6, 2], [5, 1, -2]):
        yield "arange", arguments, {}
    yield "arange", [3], {"dtype": "float32"}
    yield "one_hot", [whole(4, 2, 3), 4], {}
    yield "temporal_padding", [normal(2, 3, 2)], {}
    yield "temporal_padding", [normal(2, 3, 2), [0, 2]], {}
    for data_format in FORMATS:
        images, volumes = normal(2, 3, 4, 2), normal(1, 3, 2, 4, 2)
        yield "spatial_2d_padding", [images, [[1, 0], [2, 1]], data_format], {}
        yield "spatial_3d_padding", [volumes, [[1, 0], [0, 1], [2, 0]], data_format], {}
        for interpolation, (height, width) in itertools.product(("nearest", "bilinear"), ((2, 3), (1, 2))):
            yield "resize_images", [images, height, width, data_format, interpolation], {}
        yield "resize_volumes", [volumes, 2, 1, 3, data_format], {}
    yield "zeros_like", [normal(2, 3)], {}
    yield "ones_like", [normal(2, 3), "int32"], {}


def _activations():
    for settings in ({}, {"alpha": 0.2}, {"max_value": 0.5}, {"threshold": 0.3}, {"alpha": 0.2, "threshold": 0.3}):
        yield "relu", [normal(3, 4)], settings
    yield "relu", [normal(3, 4)], {"alpha": 0.1, "max_value": 0.6, "threshold": 0.2}
    for name in ("elu", "softplus", "softsign", "sigmoid", "hard_sigmoid", "tanh", "softmax"):
        yield name, [normal(3, 4)], {}
    yield "elu", [normal(3, 4), 0.5], {}
    yield "softmax", [normal(2, 3, 4), 1], {}
    for axis in (None, 0, -1, [0, 1]):
        yield "l2_normalize", [normal(2, 3, 4), axis], {}
    for k in (1, 2):
        yield "in_top_k", [normal(3, 4), whole(4, 3), k], {}
    yield "switch", [given([[True, False], [False, True]], "bool"), normal(2, 2, 3), normal(2, 2, 3, seed=1)], {}
    yield "switch", [given([[True, False]], "bool"), normal(1, 2), normal(1, 2, seed=1)], {}
    yield "switch", [given(1, "int32"), normal(2, 3), normal(2, 3, seed=1)], {}
    for training in (0, 1):
        yield "in_train_phase", [normal(2), normal(2, seed=1)], {"training": training}
        yield "in_test_phase", [normal(2), normal(2, seed=1)], {"training": training}


def _normalization():
    for shape, axes, size in (
        ((6, 3), [0], [3]),
        ((4, 5, 3), [0, 1], [3]),
        ((4, 3, 5), [0, 2], [3]),
        ((2, 3, 4, 5), [0, 1, 2], [5]),
        ((2, 3, 4, 5), [0, 2, 3], [3]),
    ):
        gamma, beta = uniform(*size), normal(*size, seed=2)
        yield "normalize_batch_in_training", [normal(*shape), gamma, beta, axes], {}
        yield "normalize_batch_in_training", [normal(*shape), None, None, axes, 0.01], {}
    for shape in ((6, 3), (2, 4, 3), (2, 4, 5, 3)):
        parts = [normal(3, seed=1), uniform(3), normal(3, seed=2), uniform(3, seed=3)]
        yield "batch_normalization", [normal(*shape), *parts], {}
        yield "batch_normalization", [normal(*shape), *parts[:2], None, None], {"epsilon": 0.1}


def _convolutions():
    for data_format in FORMATS:
        for padding, (stride, rate) in itertools.product(("valid", "same"), ((1, 1), (2, 1), (1, 2))):
            settings = {"padding": padding, "data_format": data_format}
            line = normal(*channels(data_format, 2, (7,), 3))
            image = normal(*channels(data_format, 2, (7, 6), 3))
            volume = normal(*channels(data_format, 1, (5, 6, 5), 2))
            one, two, three = normal(3, 3, 2, seed=1), normal(3, 2, 3, 2, seed=1), normal(2, 2, 2, 2, 2, seed=1)
            yield "conv1d", [line, one, stride], {**settings, "dilation_rate": rate}
            both = {**settings, "strides": [stride] * 2, "dilation_rate": [rate] * 2}
            yield "conv2d", [image, two], both
            yield "depthwise_conv2d", [image, two], both
            yield "separable_conv2d", [image, two, normal(1, 1, 6, 4, seed=2)], both
            all_three = {**settings, "strides": [stride] * 3, "dilation_rate": [rate] * 3}
            yield "conv3d", [volume, three], all_three
        yield "conv1d", [normal(2, 7, 3), normal(3, 3, 2, seed=1)], {"padding": "causal", "dilation_rate": 2}
        for padding, stride, size in (("valid", 1, (6, 6)), ("same", 2, (8, 10)), ("valid", 2, (9, 11))):
            image = normal(*channels(data_format, 2, (4, 5), 3))
            kernel = normal(3, 2, 4, 3, seed=1)
            shape = channels(data_format, 2, size, 4)
            settings = {"strides": [stride] * 2, "padding": padding, "data_format": data_format}
            yield "conv2d_transpose", [image, kernel, shape], settings
        image = normal(*channels(data_format, 2, (4, 5), 3))
        settings = {"padding": "same", "data_format": data_format, "dilation_rate": [2, 2]}
        shape = channels(data_format, 2, (4, 5), 4)
        yield "conv2d_transpose", [image, normal(3, 2, 4, 3, seed=1), shape], settings
        for padding, mode, stride in itertools.product(("valid", "same"), ("max", "avg"), (1, 2)):
            settings = {"padding": padding, "data_format": data_format, "pool_mode": mode}
            yield "pool2d", [normal(*channels(data_format, 2, (5, 6), 2)), [2, 3], [stride] * 2], settings
            yield "pool3d", [normal(*channels(data_format, 1, (4, 5, 4), 2)), [2, 2, 3], [stride] * 3], settings
        line, image = normal(*channels(data_format, 2, (7,), 3)), normal(*channels(data_format, 2, (5, 6), 3))
        yield "local_conv1d", [line, normal(3, 9, 2, seed=1), [3], [2], data_format], {}
        yield "local_conv2d", [image, normal(8, 18, 2, seed=1), [2, 3], [1, 3], [4, 2], data_format], {}
        for spatial in ((4,), (4, 5), (2, 4, 5)):
            x = normal(*channels(data_format, 2, spatial, 3))
            yield "bias_add", [x, normal(3, seed=1), data_format], {}
            yield "bias_add", [x, normal(*spatial, 3, seed=1), data_format], {}
    yield "bias_add", [normal(2, 3), normal(3, seed=1)], {}


def _sequences():
    labels = given([[0, 1, 1, 0], [2, 0, 0, 0]], "int32")
    lengths, steps = given([[3], [1]], "int32"), given([[6], [4]], "int32")
    yield "ctc_batch_cost", [labels, uniform(2, 6, 4), steps, lengths], {}
    flat = given([6, 4], "int32")
    yield "ctc_decode", [uniform(2, 6, 4), flat], {}
    yield "ctc_decode", [uniform(2, 6, 4, seed=3), flat], {"greedy": False, "beam_width": 5, "top_paths": 2}


FAMILIES = {
    "math": _math,
    "products": _products,
    "shapes": _shapes,
    "activations": _activations,
    "normalization": _normalization,
    "convolutions": _convolutions,
    "sequences": _sequences,
}
