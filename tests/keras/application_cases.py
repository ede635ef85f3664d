"""Networks of `keras.applications` as cases: their sizes, weights by a formula, and what is recorded of them."""

import hashlib
import json

import numpy as np

# The smallest size of images that each network takes, and further arguments.
NETWORKS = {
    "DenseNet121": (32, {}),
    "DenseNet169": (32, {}),
    "DenseNet201": (32, {}),
    "InceptionResNetV2": (75, {}),
    "InceptionV3": (75, {}),
    "MobileNet": (32, {"include_top": True, "classes": 5}),
    "MobileNetV2": (35, {"alpha": 0.35}),
    "NASNetLarge": (32, {}),
    "NASNetMobile": (33, {}),
    "ResNet50": (32, {}),
    "ResNet101": (32, {}),
    "ResNet152": (32, {}),
    "ResNet50V2": (33, {}),
    "ResNet101V2": (32, {}),
    "ResNet152V2": (32, {}),
    "VGG16": (32, {}),
    "VGG19": (32, {"pooling": "max"}),
    "Xception": (71, {}),
}


def arguments_of(name):
    """Returns the arguments of a small network, which ends with pooled features unless it has a classifier."""
    size, further = NETWORKS[name]
    return {"weights": None, "input_shape": (size, size, 3), "include_top": False, "pooling": "avg", **further}


def image_of(name):
    """Returns two images."""
    size, _ = NETWORKS[name]
    return np.random.RandomState(1).uniform(-1, 1, [2, size, size, 3]).astype(np.float32)


def weights_of(named_shapes):
    """Returns values of weights: kernels keep the variance of activations, others are near initial ones."""
    values = []
    for number, (name, shape) in enumerate(named_shapes):
        normal = np.random.RandomState(number).standard_normal(shape).astype(np.float32)
        if "kernel" in name:
            fan_in = np.prod(shape[:2] if "depthwise" in name else shape[:-1])
            values.append(normal * np.float32(np.sqrt(2 / fan_in)))
        elif "gamma" in name or "variance" in name:
            values.append(1 + np.float32(0.1) * np.abs(normal))
        else:
            values.append(np.float32(0.1) * normal)
    return values


def description_of(model):
    """Returns the number of parameters and a digest of the layers that have weights, in their order."""
    layers = [
        [layer.name, type(layer).__name__, [[weight.name, weight.shape.as_list()] for weight in layer.weights]]
        for layer in model.layers
        if layer.weights
    ]
    digest = hashlib.sha256(json.dumps(layers).encode()).hexdigest()
    return {"name": model.name, "parameters": int(model.count_params()), "layers": len(layers), "digest": digest}


def summary_of(outputs):
    """Returns a few numbers of the outputs for both images."""
    outputs = np.asarray(outputs, np.float64)
    return [*outputs[0, :4], *outputs[1, -4:], np.abs(outputs).mean(), outputs.max()]
